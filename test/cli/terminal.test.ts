import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { createServer } from 'node:net'
import path from 'node:path'
import { expect, it } from 'vitest'
import { listenOnLoopback } from '../support/loopback.ts'
import { startAtOwnAddress } from '../support/pages/browser-service.ts'
import { newMachine } from './machine.ts'

const COMMAND = path.join(import.meta.dirname, '../../src/cli/package-entry.ts')

/** The program of Linux that runs a command in a terminal. That of macOS takes other arguments. */
const SCRIPT = '/usr/bin/script'
const hasScript = process.platform === 'linux' && existsSync(SCRIPT)

/** Runs `svc` in a terminal, and presses Ctrl-C as soon as a text is shown. */
function interruptAt(shown: string, args: readonly string[], home: string): Promise<number | null> {
  const line = [process.execPath, COMMAND, ...args].join(' ')
  const env = { HOME: home, PATH: process.env['PATH'], TERM: 'xterm' }
  const child = spawn(SCRIPT, ['-qec', `stty cols 80; exec ${line}`, '/dev/null'], { env })
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    if (text.includes(shown)) child.stdin.write('\u0003')
  })
  return new Promise((resolve, reject) => child.once('error', reject).once('close', resolve))
}

it.runIf(hasScript)('Ctrl-C ends a command that waits for an answer with status 130', async () => {
  await using service = await startAtOwnAddress({ SVC_POLL_INTERVAL_SECONDS: '1' })
  await using machine = await newMachine()
  await machine.signIn(service)
  const silent = createServer()
  const url = `http://localhost:${await listenOnLoopback(silent)}`
  await machine.moveProfile(service, url)
  expect(await interruptAt('Asking the deployment', ['status', '--url', url], machine.home)).toBe(130)
  silent.close()
})
