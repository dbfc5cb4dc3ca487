// A process of its own that opens the embedded database in the directory given, says what it does line by line, and with
// `write` goes on writing rows, telling each one once it is acknowledged. It ends when it is killed, or when stdin closes.
import { openDatabase } from '../../src/database/open.ts'

const say = (line: string) => process.stdout.write(`${line}\n`)
const [directory = '', mode] = process.argv.slice(2)

try {
  const database = await openDatabase({ kind: 'embedded', directory })
  say('open')
  process.stdin.on('end', () => void database.close().then(() => process.exit(0))).resume()
  for (let i = 0; mode === 'write'; i++) {
    await database.prisma.organization.create({ data: { name: `row-${i}` } })
    say(`row-${i}`)
  }
} catch (error) {
  say(`refused: ${error instanceof Error ? error.message : String(error)}`)
  process.exit(1)
}
