import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'

/** Writes the files of a package into an empty folder. */
export type Build = (folder: string) => void | Promise<void>

/** Builds a package in a temporary folder, packs it into the folder `out`, and returns the path of the tarball. */
export async function packInto(out: string, build: Build): Promise<string> {
  const folder = mkdtempSync(path.join(tmpdir(), 'svc-pack-'))
  try {
    await build(folder)
    const printed = execFileSync('npm', ['pack', folder, '--json', '--pack-destination', out], { encoding: 'utf8' })
    // npm 11 prints a list, npm 12 an object by package name.
    const [packed] = Object.values(JSON.parse(printed) as Record<string, { filename: string }>)
    return path.join(out, packed?.filename ?? '')
  } finally {
    rmSync(folder, { recursive: true })
  }
}
