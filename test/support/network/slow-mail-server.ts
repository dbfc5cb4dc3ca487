import { setTimeout as sleep } from 'node:timers/promises'
import { SMTPServer } from 'smtp-server'
import { listenOnLoopback } from '../loopback.ts'

/** A real SMTP server that delays its answer to each email. */
export type SlowMailServer = AsyncDisposable & {
  /** For SVC_MAIL_URL. */
  readonly url: string
  /** The delay of each email that arrives from now on, in milliseconds. */
  msPerMail: number
  /** The recipients of the emails so far, in the order of arrival. */
  readonly taken: readonly string[]
  /** The largest number of connections that were open at once. */
  maxConnections(): number
}

export async function startSlowMailServer(): Promise<SlowMailServer> {
  const taken: string[] = []
  const state = { msPerMail: 0 }
  let [open, max] = [0, 0]
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ['STARTTLS', 'AUTH'],
    onConnect(_session, done) {
      max = Math.max(max, (open += 1))
      done()
    },
    onClose: () => void (open -= 1),
    onData(stream, session, done) {
      stream.resume()
      stream.on('end', () => {
        taken.push(...session.envelope.rcptTo.map(({ address }) => address))
        void sleep(state.msPerMail).then(() => done())
      })
    },
  })
  server.on('error', () => undefined)
  const port = await listenOnLoopback(server)
  return Object.assign(state, {
    url: `smtp://127.0.0.1:${port}`,
    taken,
    maxConnections: () => max,
    [Symbol.asyncDispose]: () => new Promise<void>((closed) => server.close(() => closed())),
  })
}
