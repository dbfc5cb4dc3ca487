import { expect, it } from 'vitest'
import { readPages } from '../../src/cli/deployment/pages.ts'

it('reads pages, each from where the one before has ended, until there is no next one', async () => {
  const asked: (string | undefined)[] = []
  const pages = readPages(async (position) => {
    asked.push(position)
    return { position, next: asked.length < 3 ? `after-${asked.length}` : null }
  })
  const read: (string | undefined)[] = []
  for await (const { position } of pages) read.push(position)
  expect(asked).toEqual([undefined, 'after-1', 'after-2'])
  expect(read).toEqual(asked)
})
