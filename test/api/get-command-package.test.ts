import { writeFile } from 'node:fs/promises'
import path from 'node:path'
import { describe, expect, it } from 'vitest'
import { COMMAND_ARCHIVE, newCommandFile } from '../support/command-file.ts'
import { newFolder } from '../support/process.ts'
import { startService } from '../support/service.ts'

const PATH = '/assets/svc-cli.tgz'

describe('getCommandPackage', () => {
  describe('200', () => {
    it('serves the file that SVC_COMMAND_FILE names', async () => {
      await using file = await newCommandFile()
      await using service = await startService({ env: { SVC_COMMAND_FILE: file.path } })
      const response = await service.fetch(PATH)
      expect(response.headers.get('content-type')).toBe('application/gzip')
      expect(Buffer.from(await response.arrayBuffer())).toEqual(COMMAND_ARCHIVE)
    })
  })

  describe('304', () => {
    it('sends no body when If-None-Match has the current ETag', async () => {
      await using file = await newCommandFile()
      await using service = await startService({ env: { SVC_COMMAND_FILE: file.path } })
      const etag = (await service.fetch(PATH)).headers.get('etag') ?? ''
      expect((await service.fetch(PATH, { headers: { 'if-none-match': etag } })).status).toBe(304)
    })
  })

  describe('404', () => {
    it('says whom to ask for the command, where the deployment does not offer it', async () => {
      await using service = await startService()
      const response = await service.fetch(PATH)
      expect(response.status).toBe(404)
      expect(await response.text()).toContain('Ask an admin of your team for its file.')
    })
  })

  it('does not start with a file that is missing or no archive', async () => {
    await using folder = await newFolder()
    const text = path.join(folder.path, 'svc-cli.tgz')
    await writeFile(text, '<html>')
    const startWith = (file: string) => startService({ env: { SVC_COMMAND_FILE: file } })
    await expect(startWith(path.join(folder.path, 'other.tgz'))).rejects.toThrow(/^SVC_COMMAND_FILE: .* cannot be read/)
    await expect(startWith(text)).rejects.toThrow(/^SVC_COMMAND_FILE: .* is not a \.tgz file/)
  })
})
