import { Prisma } from '../../generated/prisma/client.ts'

/** A part of a statement, with its values. Statements and other parts are made of parts. */
export type Sql = Prisma.Sql

/** Makes a part of a statement: `sql\`id = ${id}::uuid\``. Values are sent beside the text, never in it. */
export const sql = Prisma.sql

/** A part with nothing in it. */
export const NO_SQL = Prisma.empty

/** Joins parts by commas, or by another text. */
export const joinSql = Prisma.join

/** Makes a part of a text of this program, such as the name of a column. The text of a caller must not come here. */
export const rawSql = Prisma.raw
