/** Loaded into a service that is measured: tells what memory it holds whenever it is asked. Needs `--expose-gc`. */
process.on('message', () => {
  globalThis.gc?.()
  // The first round frees what the second one finds unused.
  globalThis.gc?.()
  process.send?.(process.memoryUsage())
})
