// A separate process that opens an embedded database in memory and lets it parse long statements.
import { openMemory } from '../../src/database/embedded/pglite.ts'

const pglite = await openMemory()
const columns = Array.from({ length: 200 }, (_, column) => `${column} AS c${column}`).join(', ')
for (let i = 0; i < 20; i += 1) await pglite.exec(`SELECT ${columns}`)
await pglite.close()
