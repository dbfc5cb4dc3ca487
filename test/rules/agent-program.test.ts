import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { findProgram } from '../../src/cli/agents/program.ts'
import { readEnvironment } from '../../src/cli/environment.ts'

let folder: string
beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'svc-path-'))
})
afterEach(() => rm(folder, { recursive: true }))

async function put(name: string, text = ''): Promise<string> {
  const file = path.join(folder, name)
  await mkdir(path.dirname(file), { recursive: true })
  await writeFile(file, text, { mode: 0o755 })
  return file
}

const find = (platform: NodeJS.Platform, PATH = path.join(folder, 'bin')) =>
  findProgram('codex', { ...readEnvironment({ PATH }, folder, 'svc'), platform })

/** The ends of the last lines that npm 11 writes for a script, and for a program. */
const NPM_SCRIPT = String.raw`endLocal & goto #_undefined_# 2>NUL || "%_prog%"  "%dp0%\modules\codex\codex.js" %*`
const NPM_PROGRAM = String.raw`"%dp0%\modules\codex\codex.exe"   %*`
const PNPM_SCRIPT = String.raw`@IF EXIST "%~dp0\node.exe" (
  "%~dp0\node.exe"  "%~dp0\modules\codex\codex.js" %*
) ELSE (
  @SET PATHEXT=%PATHEXT:;.JS;=;%
  node  "%~dp0\modules\codex\codex.js" %*
)`

describe('a program on PATH', () => {
  it('is the first file that can be run', async () => {
    await mkdir(path.join(folder, 'one/codex'), { recursive: true })
    await chmod(await put('two/codex'), 0o644)
    const file = await put('three/codex')
    await put('four/codex')
    const PATH = ['one', 'two', 'three', 'four'].map((name) => path.join(folder, name)).join(path.delimiter)
    expect(find('linux', PATH)).toEqual({ file, args: [], found: file })
  })

  it('is not searched in the working directory', async () => {
    const before = process.cwd()
    process.chdir(path.dirname(await put('codex')))
    try {
      expect(find('linux', `${path.delimiter}/nowhere`)).toBeNull()
    } finally {
      process.chdir(before)
    }
  })
})

describe('a program on PATH of Windows', () => {
  it('is none where no file of its name can be started', async () => {
    await put('bin/codex')
    expect(find('win32')).toBeNull()
  })

  it('is the .exe file, before what npm has put beside it', async () => {
    await put('bin/codex')
    await put('bin/codex.cmd', NPM_SCRIPT)
    const file = await put('bin/codex.exe')
    expect(find('win32')).toEqual({ file, args: [], found: file })
  })

  it.each([
    ['npm', NPM_SCRIPT],
    ['pnpm', PNPM_SCRIPT],
  ])('is the script that a .cmd file of %s names, run by Node.js', async (_, text) => {
    const found = await put('bin/codex.cmd', text)
    const script = path.join(folder, 'bin/modules/codex/codex.js')
    expect(find('win32')).toEqual({ file: process.execPath, args: [script], found })
  })

  it('is the .exe file that a .cmd file of npm names', async () => {
    const found = await put('bin/codex.cmd', NPM_PROGRAM)
    expect(find('win32')).toEqual({ file: path.join(folder, 'bin/modules/codex/codex.exe'), args: [], found })
  })

  it('is not a .cmd file of another origin, nor a script for a POSIX shell', async () => {
    await put('bin/codex', '#!/bin/sh')
    await put('bin/codex.cmd', '@echo off\r\ncodex-launcher run %*')
    expect(find('win32')).toBeNull()
  })
})
