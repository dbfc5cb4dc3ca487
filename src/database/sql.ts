import { Prisma } from '../../generated/prisma/client.ts'

/** A part of a statement, with its values. Statements and other parts are made of parts. */
export type Sql = Prisma.Sql

/** Makes a part of a statement: `sql\`id = ${id}::uuid\``. Values are sent beside the text, never in it. */
export const sql = Prisma.sql
