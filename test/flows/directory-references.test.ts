import { expect, it } from 'vitest'
import { withoutReferenceChecks } from '../../src/directory/rows/unchecked-references.ts'
import { freshDatabase } from '../support/database.ts'

const UNKNOWN = { teamId: '00000000-0000-0000-0000-000000000001', modelId: 'unknown' }

it('references are not checked for many rows, and are checked again afterwards', async () => {
  await using database = await freshDatabase()
  const { prisma } = database
  const addUnknown = (rows: number) =>
    prisma.$transaction(async (tx) => {
      await withoutReferenceChecks(tx, rows, async () => void (await tx.teamModel.create({ data: UNKNOWN })))
      await tx.$executeRaw`DELETE FROM team_models`
      return 'added'
    })
  await expect(addUnknown(1)).rejects.toThrow(/[Ff]oreign key/)
  expect(await addUnknown(1000)).toBe('added')
  await expect(prisma.teamModel.create({ data: UNKNOWN })).rejects.toThrow(/[Ff]oreign key/)
})

it('references are checked again after a transaction that failed while they were not', async () => {
  await using database = await freshDatabase()
  const { prisma } = database
  const fail = () =>
    prisma.$transaction((tx) => withoutReferenceChecks(tx, 1000, () => Promise.reject(new Error('It failed.'))))
  await expect(fail()).rejects.toThrow('It failed.')
  await expect(prisma.teamModel.create({ data: UNKNOWN })).rejects.toThrow(/[Ff]oreign key/)
})
