import { Readable, Writable } from 'node:stream'
import { vi } from 'vitest'
import { runCommandLine } from '../../src/cli/command-line.ts'
import { readEnvironment } from '../../src/cli/environment.ts'
import { operatorCommands } from '../../src/cli/operators/commands.ts'

/**
 * Runs an operator's command in this process, with these settings in its environment; a process for each would take a
 * second of CPU time. Resolves with what it prints; rejects with its message when its exit status is not 0.
 */
export async function runOperatorCommand(
  settings: Readonly<Record<string, string>>,
  ...args: readonly string[]
): Promise<string> {
  const printed = { stdout: '', stderr: '' }
  const collect = (name: keyof typeof printed) =>
    new Writable({ write: (chunk, _encoding, done) => done(void (printed[name] += String(chunk))) })
  for (const [name, value] of Object.entries({ SVC_LOG_LEVEL: 'silent', ...settings })) vi.stubEnv(name, value)
  // What a command leaves behind ends with its process otherwise.
  const listeners = process.listeners('exit')
  // These commands print to the output of their process.
  const stdout = vi.spyOn(process.stdout, 'write').mockImplementation((text) => {
    printed.stdout += String(text)
    return true
  })
  try {
    const streams = { stdin: Readable.from([]), stdout: collect('stdout'), stderr: collect('stderr') }
    const status = await runCommandLine(operatorCommands, { args, environment: readEnvironment(), ...streams })
    if (status !== 0) throw new Error(printed.stderr)
    return printed.stdout
  } finally {
    stdout.mockRestore()
    const added = process.listeners('exit').filter((listener) => !listeners.includes(listener))
    for (const listener of added) process.off('exit', listener)
    vi.unstubAllEnvs()
  }
}
