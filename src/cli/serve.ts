import { readConfig, warningsOf } from '../config.ts'
import { systemClock } from '../kernel/clock.ts'
import { openLog } from '../log.ts'
import { serve } from '../server/serve.ts'
import { interrupted } from './interrupt.ts'

/** `svc serve`: serves until a signal to stop. SIGHUP applies the directory file again. */
export async function runService(): Promise<void> {
  const config = readConfig()
  const log = openLog(config.logLevel)
  for (const warning of warningsOf(config)) log.warn({ warning }, 'settings.warning')
  const running = await serve(config, { clock: systemClock, log })
  process.on('SIGHUP', () => {
    running.reloadDirectory().then(
      () => log.info({ file: config.directoryFile }, 'directory.applied'),
      (err: unknown) => log.error({ err }, 'directory.rejected'),
    )
  })
  const signal = await interrupted()
  log.info({ signal }, 'service.stopping')
  await running.stop()
  log.flush()
}
