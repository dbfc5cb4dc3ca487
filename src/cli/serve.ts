import { readConfig, warningsOf } from '../config.ts'
import { systemClock } from '../kernel/clock.ts'
import { openLog } from '../log.ts'
import { serve } from '../server/serve.ts'
import { interrupted } from './interrupt.ts'

/** `svc serve`: serves until a signal to stop. SIGHUP applies the directory file and the price file again. */
export async function runService({ force }: { readonly force: boolean }): Promise<void> {
  const config = readConfig()
  const log = openLog(config.logLevel)
  for (const warning of warningsOf(config)) log.warn({ warning }, 'settings.warning')
  const starting = serve(config, { clock: systemClock, log, forceDirectory: force })
  // From the start, because the default action of the signal ends the process.
  process.on('SIGHUP', () => {
    // The log says what became of it.
    starting.then((running) => running.reload()).catch(() => undefined)
  })
  const running = await starting
  const signal = await interrupted()
  log.info({ signal }, 'service.stopping')
  await running.stop()
  // A pipe that nobody reads blocks the last write, and with it the exit of the process.
  if (!(await log.close())) process.kill(process.pid, 'SIGKILL')
}
