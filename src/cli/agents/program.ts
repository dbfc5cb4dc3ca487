import { accessSync, constants, readFileSync, statSync } from 'node:fs'
import path from 'node:path'
import type { Environment } from '../environment.ts'

/** How a program is started: a file that the operating system can run, and what precedes its arguments. */
export type Program = {
  readonly file: string
  readonly args: readonly string[]
  /** The file on PATH that people know it by. */
  readonly found: string
}

/** Finds a program on PATH as an absolute path; null: there is none. Skips empty entries: the working directory. */
export function findProgram(name: string, { platform, variables }: Environment): Program | null {
  const folders = (variables['PATH'] ?? '').split(path.delimiter).filter((folder) => folder !== '')
  const toStart = platform === 'win32' ? startOnWindows : startAsIs
  for (const folder of folders) {
    const program = toStart(path.resolve(folder, name))
    if (program) return program
  }
  return null
}

function startAsIs(found: string): Program | null {
  return isExecutable(found) && statSync(found).isFile() ? { file: found, args: [], found } : null
}

/** Windows starts only `.exe` files without cmd.exe. npm installs most tools as `.cmd` files. */
function startOnWindows(name: string): Program | null {
  const [found, shim] = [`${name}.exe`, `${name}.cmd`]
  // Not `statSync`: Node.js cannot read the links of programs from the Microsoft Store.
  if (isExecutable(found)) return { file: found, args: [], found }
  return isExecutable(shim) ? startOfShim(shim) : null
}

/** What the last command of a `.cmd` file of npm, pnpm or yarn runs, relative to the folder of that file. */
const SHIM_TARGET = /"%(?:~dp0|dp0%)\\([^"]+)"\s+%\*/

/**
 * The program that a `.cmd` file of a package manager starts: an `.exe` file, or else a script of Node.js. The file
 * itself is not run, because cmd.exe would run what follows an `&` in an argument. Null for other `.cmd` files.
 */
function startOfShim(found: string): Program | null {
  const target = SHIM_TARGET.exec(readFileSync(found, 'utf8'))?.[1]
  if (target === undefined) return null
  const file = path.join(path.dirname(found), ...target.split('\\'))
  return file.endsWith('.exe') ? { file, args: [], found } : { file: process.execPath, args: [file], found }
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK)
    return true
  } catch {
    return false
  }
}
