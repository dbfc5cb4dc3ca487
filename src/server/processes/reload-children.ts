import type { Worker as Child } from 'node:cluster'
import type { Logger } from '../../log.ts'
import { ask } from './child-messages.ts'
import type { FromChild } from './child-messages.ts'

/** How long a process may take to apply the files. Those of large teams, over a slow database, take seconds. */
const MAX_ANSWER_MS = 60_000

type Reloaded = FromChild & { readonly type: 'reloaded' }

/**
 * Lets one process after the other apply the files. Resolves with the answer of the first. Rejects with the first
 * refusal, or with the processes that do not answer in time, after all others have applied the files.
 */
export async function reloadChildren(
  children: readonly Child[],
  force: boolean,
  log: Pick<Logger, 'error'>,
  maxAnswerMs = MAX_ANSWER_MS,
): Promise<string> {
  const answers: Reloaded[] = []
  const unanswered: (number | undefined)[] = []
  for (const child of children) {
    const answer = await ask(child, { type: 'reload', force }, maxAnswerMs)
    if (answer?.type === 'reloaded') answers.push(answer)
    // The one that replaces a process that has ended reads the files when it starts.
    else if (!child.isDead()) unanswered.push(child.process.pid)
  }
  if (unanswered.length > 0) log.error({ pids: unanswered }, 'reload.unanswered')
  const refused = answers.find(({ isApplied }) => !isApplied)
  if (refused) throw new Error(refused.text)
  if (unanswered.length > 0) throw new Error(explainUnanswered(unanswered, maxAnswerMs))
  return answers[0]?.text ?? 'No process is running now. The next one reads the files when it starts.'
}

function explainUnanswered(pids: readonly (number | undefined)[], maxAnswerMs: number): string {
  return (
    `No answer from process ${pids.join(', ')} within ${maxAnswerMs / 1000} seconds. The others have applied the ` +
    'files. Kill one that hangs: the process that replaces it reads the files when it starts.'
  )
}
