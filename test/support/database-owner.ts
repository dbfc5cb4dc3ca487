// A separate process that opens the embedded database in the given directory and prints one line per event: `open`,
// or `refused: <reason>`. With the argument `write` it keeps inserting rows and prints the name of each row after its
// insert was acknowledged. It ends when it is killed or when its stdin closes.
import { openDatabase } from '../../src/database/open.ts'

const print = (line: string) => process.stdout.write(`${line}\n`)
const [directory = '', mode] = process.argv.slice(2)

try {
  const database = await openDatabase({ kind: 'embedded', directory })
  print('open')
  process.stdin.on('end', () => void database.close().then(() => process.exit(0))).resume()
  for (let i = 0; mode === 'write'; i++) {
    await database.prisma.organization.create({ data: { name: `row-${i}` } })
    print(`row-${i}`)
  }
} catch (error) {
  print(`refused: ${error instanceof Error ? error.message : String(error)}`)
  process.exit(1)
}
