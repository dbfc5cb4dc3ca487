import { setFlagsFromString } from 'node:v8'
import { PGlite, protocol } from '@electric-sql/pglite'
import type { PGliteOptions } from '@electric-sql/pglite'

/**
 * Opens a PGlite whose code V8 optimizes as usual, but for the parser of statements, and that ends its thread when
 * Postgres panics.
 */
export async function openLeanPGlite(options: PGliteOptions): Promise<PGlite> {
  const pglite = new LeanPGlite(options)
  await pglite.waitReady
  return pglite
}

class LeanPGlite extends PGlite {
  /** PGlite calls this before it runs its first statement. */
  override async _initArrayTypes(options?: { force?: boolean }): Promise<void> {
    compileParser(this)
    await super._initArrayTypes(options)
  }

  // All statements pass through these two methods, also those of transactions.
  override execProtocol(...given: Parameters<PGlite['execProtocol']>): ReturnType<PGlite['execProtocol']> {
    return super.execProtocol(...given).catch(endAfterPanic)
  }

  override execProtocolStream(...given: Parameters<PGlite['execProtocolStream']>) {
    return super.execProtocolStream(...given).catch(endAfterPanic)
  }
}

/**
 * Throws the error of a statement, and ends the thread when it is a panic, for example because the disk has no space
 * for the write-ahead log. A Postgres server would end then. PGlite does not, and its next statement would be an
 * endless loop. So the statement that has panicked stays pending, because the next one waits for its end.
 */
function endAfterPanic(error: unknown): Promise<never> {
  if (!(error instanceof Error && 'severity' in error && error.severity === 'PANIC')) throw error
  setImmediate(() => {
    throw error
  })
  return new Promise(() => {})
}

/**
 * Lets V8 compile the parser so that it is never optimized. The parser is one function of 105 KB, which takes 600 MB
 * for a moment and about a second of CPU time to optimize, and statements are parsed once. V8 compiles a function of
 * WebAssembly when it is called first, and decides then whether it may be optimized later. So a message that Postgres
 * answers without its parser is sent first. It calls the functions that run around every statement, and V8 may optimize
 * them as usual.
 */
function compileParser(pglite: PGlite): void {
  const { describe, sync, query } = protocol.serialize
  // There is no statement of this name. The answer is an error, as it would be to a statement that fails.
  pglite.execProtocolRawSync(Buffer.concat([describe({ type: 'S', name: 'none' }), sync()]))
  setFlagsFromString(`--wasm-tier-up-filter=${NO_FUNCTION}`)
  try {
    // A syntax error, so that functions behind the parser are not called.
    pglite.execProtocolRawSync(query('SYNTAX ERROR'))
  } finally {
    setFlagsFromString(`--wasm-tier-up-filter=${ALL_FUNCTIONS}`)
  }
}

/** The number of the only function that may be optimized. This one is imported, so V8 does not compile it. */
const NO_FUNCTION = 0
const ALL_FUNCTIONS = -1
