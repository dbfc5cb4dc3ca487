import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { SMTPServer } from 'smtp-server'

/** A real SMTP listener that takes its time with each mail. */
export type SlowMailServer = AsyncDisposable & {
  /** For SVC_MAIL_URL. */
  readonly url: string
  /** How long it thinks about a mail that it got, from the next one on. */
  msPerMail: number
  /** Whom it took a mail for, in the order of arrival. */
  readonly taken: readonly string[]
  /** The most connections that there were at once. */
  mostConnections(): number
}

export async function startSlowMailServer(): Promise<SlowMailServer> {
  const taken: string[] = []
  const state = { msPerMail: 0 }
  let [open, most] = [0, 0]
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ['STARTTLS', 'AUTH'],
    onConnect(_session, done) {
      most = Math.max(most, (open += 1))
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
  const listener = server.listen(0, '127.0.0.1')
  await new Promise((listening) => listener.once('listening', listening))
  return Object.assign(state, {
    url: `smtp://127.0.0.1:${(listener.address() as AddressInfo).port}`,
    taken,
    mostConnections: () => most,
    [Symbol.asyncDispose]: () => new Promise<void>((closed) => server.close(() => closed())),
  })
}
