import { chmod, readdir, readFile, stat, symlink } from 'node:fs/promises'
import path from 'node:path'
import { expect, it } from 'vitest'
import { makePrivateDirectory, replaceFile } from '../../src/private-files.ts'
import { newFolder } from '../support/process.ts'

const modeOf = async (file: string) => (await stat(file)).mode & 0o777

it('replaces a file as a whole, which only its owner can read, and leaves no other file', async () => {
  await using folder = await newFolder()
  const file = path.join(folder.path, 'new', 'secret')
  await replaceFile(file, 'first')
  expect([await modeOf(path.dirname(file)), await modeOf(file)]).toEqual([0o700, 0o600])
  await chmod(file, 0o644)
  await replaceFile(file, Buffer.from('second'))
  expect([await readFile(file, 'utf8'), await modeOf(file)]).toEqual(['second', 0o600])
  expect(await readdir(path.dirname(file))).toEqual(['secret'])
})

it('leaves nothing behind when a file cannot be replaced', async () => {
  await using folder = await newFolder()
  // A directory that is not empty cannot be replaced by a file.
  await replaceFile(path.join(folder.path, 'taken', 'inner'), '')
  await expect(replaceFile(path.join(folder.path, 'taken'), 'text')).rejects.toThrow()
  expect(await readdir(folder.path)).toEqual(['taken'])
})

it('takes the permissions of others away from a directory, and not from one for all users, such as /tmp', async () => {
  await using folder = await newFolder()
  await chmod(folder.path, 0o755)
  expect([await makePrivateDirectory(folder.path), await modeOf(folder.path)]).toEqual([true, 0o700])
  await chmod(folder.path, 0o1777)
  await expect(makePrivateDirectory(folder.path)).rejects.toThrow('is for all users of this machine')
  expect(await modeOf(folder.path)).toBe(0o777)
})

it('says why a directory cannot be created: Node.js says ENOENT also when the file system is read-only', async () => {
  await using folder = await newFolder()
  // A link whose target is missing also gives ENOENT.
  const directory = path.join(folder.path, 'unmounted')
  await symlink(path.join(folder.path, 'nowhere', 'inner'), directory)
  const message = `${directory} cannot be created, because its disk is read-only or missing`
  await expect(makePrivateDirectory(directory)).rejects.toThrow(message)
  await expect(replaceFile(path.join(directory, 'secret'), 'text')).rejects.toThrow(message)
})
