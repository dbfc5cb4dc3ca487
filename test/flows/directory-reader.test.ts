import { describe, expect, it } from 'vitest'
import { readDirectoryFile } from '../../src/directory/rules.ts'
import type { ReadSecret } from '../../src/kernel/credentials/secret-source.ts'
import { Secret } from '../../src/kernel/secret.ts'
import { readDirectoryText } from '../../src/server/files/directory-reader.ts'
import { directoryOf } from '../support/people.ts'

/** Large enough to be read in another thread. */
const MEMBERS = Array.from({ length: 2000 }, (_, at) => `member-${at}@example.com`)
const BACKEND = '\nbackends: [{ name: eu, dialects: [chat], url: "https://eu.example.com", credential: { env: EU } }]\n'

const knows: ReadSecret = () => ({ secret: new Secret('eu') })
const lacks: ReadSecret = ({ env }) => ({ mistake: `names the environment variable ${env}, which is not set` })

describe('a large directory file', () => {
  const file = directoryOf(MEMBERS) + BACKEND

  it('is read in another thread, with the same result', async () => {
    expect(await readDirectoryText(file, knows)).toEqual(readDirectoryFile(file, knows))
  })

  it('has the same mistakes, also those of credentials', async () => {
    const wrong = file.replace('member-7@', 'member-7')
    const read = await readDirectoryText(wrong, knows)
    expect(read).toEqual({ mistakes: [expect.stringContaining('"member-7example.com" is not an email address')] })
    expect(await readDirectoryText(file, lacks)).toEqual({
      mistakes: [expect.stringMatching(/^line \d+, .*EU, which/)],
    })
  })
})
