import { writeFileSync } from 'node:fs'
import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { openKeyFile } from '../../src/database/embedded/key-file.ts'
import { OperatorError } from '../../src/kernel/operator-error.ts'
import { newFolder } from '../support/process.ts'

const ignore = () => undefined
const log = { debug: ignore, info: ignore, warn: ignore, error: ignore }

it('makes the file of the encryption key once, and reads it later', async () => {
  await using folder = await newFolder()
  const made = await openKeyFile(folder.path, log)
  expect((await stat(join(folder.path, 'encryption-key'))).mode & 0o777).toBe(0o600)
  expect((await openKeyFile(folder.path, log)).reveal()).toBe(made.reveal())
})

it('tells the operator what to do about a broken file, without a stack', async () => {
  await using folder = await newFolder()
  writeFileSync(join(folder.path, 'encryption-key'), 'not a key\n', { mode: 0o600 })
  const opening = openKeyFile(folder.path, log)
  await expect(opening).rejects.toBeInstanceOf(OperatorError)
  await expect(opening).rejects.toThrow(/encryption-key holds no key of 32 bytes in base64\. Restore it, or delete it/)
})
