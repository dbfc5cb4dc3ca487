/** Loaded into a service that is measured: answers each message with the memory of the process. Needs `--expose-gc`. */
process.on('message', () => {
  globalThis.gc?.()
  // The first collection runs finalizers, and the second one frees what they held.
  globalThis.gc?.()
  process.send?.(process.memoryUsage())
})
