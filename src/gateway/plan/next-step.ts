import type { Step } from './plan.ts'

/** A step that was tried. `refused`: the backend cannot be asked, so nothing was sent. `answered`: it was reached. */
export type TriedStep = { readonly step: Step; readonly result: 'refused' | 'unreachable' | 'answered' }

/** The maximum number of backends that a call is sent to. */
const MAX_ATTEMPTS = 3

/**
 * The step to try next; null: none. Offline-only steps come first while no other backend can be reached, and are left
 * out otherwise. The last attempt goes to one of them when no attempt before it reached a backend.
 */
export function chooseNext(steps: readonly Step[], tried: readonly TriedStep[]): Step | null {
  const [only] = steps
  if (steps.length === 1 && only) return tried.length === 0 ? only : null
  const sent = tried.filter(({ result }) => result !== 'refused')
  if (sent.length >= MAX_ATTEMPTS) return null
  const left = steps.filter((step) => resultOf(step, tried) === undefined)
  const forOffline = left.find(({ isOfflineOnly }) => isOfflineOnly) ?? null
  const usual = left.find(({ isOfflineOnly }) => !isOfflineOnly) ?? null
  const isLastChance = sent.length === MAX_ATTEMPTS - 1 && sent.every(({ result }) => result === 'unreachable')
  return isLastChance || isOffline(steps, tried) ? (forOffline ?? usual) : usual
}

/** Whether no backend can be reached besides those of offline-only steps. */
function isOffline(steps: readonly Step[], tried: readonly TriedStep[]): boolean {
  const usual = steps.filter(({ isOfflineOnly }) => !isOfflineOnly)
  // Nothing was sent to a backend that cannot be asked, so it does not show whether the network works.
  const asked = usual.filter((step) => resultOf(step, tried) !== 'refused')
  if (asked.length === 0) return usual.length === 0
  return asked.every((step) => {
    const result = resultOf(step, tried)
    return result ? result === 'unreachable' : !step.isReachable
  })
}

function resultOf(step: Step, tried: readonly TriedStep[]): TriedStep['result'] | undefined {
  return tried.find((one) => one.step === step)?.result
}

/** The statuses below 500 after which the next backend is tried. */
const NEXT_AFTER: ReadonlySet<number> = new Set([
  // It is busy, or did not get the request in time.
  ...[408, 429],
  // The operator's fault: the credential, the account or the model's name there.
  ...[401, 402, 403, 404, 407],
])

/** The request asks for what no server would do: 501 Not Implemented, 505 HTTP Version Not Supported. */
const NOT_SUPPORTED: ReadonlySet<number> = new Set([501, 505])

/**
 * Whether the next backend is tried after an error of this status. A backend that does not work may say so with any
 * status from 500 on: content delivery networks have their own from 520 to 530. Every backend would repeat the others,
 * such as 400, 413 and 422.
 */
export function isTriedElsewhere(status: number): boolean {
  return status >= 500 ? !NOT_SUPPORTED.has(status) : NEXT_AFTER.has(status)
}
