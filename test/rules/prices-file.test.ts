import { execFileSync } from 'node:child_process'
import { readdir, readFile, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { expect, it } from 'vitest'
import { loadPricesFile, replacePricesFile } from '../../src/server/files/prices-file.ts'
import { RefusedFileError } from '../../src/server/files/refused-file.ts'
import { newFolder } from '../support/process.ts'

const list = (...prices: readonly number[]) =>
  JSON.stringify(Object.fromEntries(prices.map((price, at) => [`m${at}`, { input_cost_per_token: price }])))

it('replaces the price file as a whole, and says how many models are new or changed', async () => {
  await using folder = await newFolder()
  const source = path.join(folder.path, 'downloaded.json')
  const file = path.join(folder.path, 'new', 'prices.json')
  await writeFile(source, list(1e-6, 2e-6))
  expect(await replacePricesFile(source, file)).toEqual({ models: 2, changed: 2 })
  expect(await readFile(file, 'utf8')).toBe(list(1e-6, 2e-6))

  await writeFile(source, list(1e-6, 3e-6, 4e-6))
  expect(await replacePricesFile(source, file)).toEqual({ models: 3, changed: 2 })
  expect(await readdir(path.dirname(file))).toEqual(['prices.json'])
})

it('keeps the price file when the new list has mistakes, and names them', async () => {
  await using folder = await newFolder()
  const source = path.join(folder.path, 'downloaded.json')
  const file = path.join(folder.path, 'prices.json')
  await writeFile(file, list(1e-6))
  await writeFile(source, list(...Array.from({ length: 22 }, () => -1)))
  const refused = replacePricesFile(source, file)
  await expect(refused).rejects.toThrow(RefusedFileError)
  await expect(refused).rejects.toThrow(
    /was not applied:\n {2}"m0": input_cost_per_token must be a number from 0 to 0.01/,
  )
  await expect(refused).rejects.toThrow(/"m19".*\n {2}and 2 more$/)
  expect(await readFile(file, 'utf8')).toBe(list(1e-6))
})

it('says that a price file cannot be read', async () => {
  await expect(loadPricesFile('/nowhere/prices.json')).rejects.toThrow(/nowhere\/prices.json was not applied:.*ENOENT/s)
})

it('refuses a named pipe, which a reload would wait for', async () => {
  await using folder = await newFolder()
  const pipe = path.join(folder.path, 'pipe')
  execFileSync('mkfifo', [pipe])
  await expect(loadPricesFile(pipe)).rejects.toThrow('It cannot be read: it is a named pipe. Name a regular file')
})
