/** What a usual machine takes for `doReferenceWork`. Machines that do other work, or slower ones, take longer. */
const USUAL_SECONDS = 0.0125
const ROWS = Array.from({ length: 2000 }, (_, at) => ({ id: `call_${at}`, arguments: '{"path":"a.txt"}', at }))

/**
 * The CPU time that some work takes, in seconds of a usual machine: on a slower one the time counts less, by what a
 * fixed piece of work takes before and after it. Tests compare it with a limit that only work of another order exceeds.
 */
export async function cpuSecondsOf(work: () => unknown): Promise<number> {
  const before = await measure(doReferenceWork)
  const seconds = await measure(work)
  const reference = (before + (await measure(doReferenceWork))) / 2
  return seconds / Math.max(1, reference / USUAL_SECONDS)
}

async function measure(work: () => unknown): Promise<number> {
  const startedAt = process.cpuUsage()
  await work()
  // With the time of the kernel, which copies long texts.
  const { user, system } = process.cpuUsage(startedAt)
  return (user + system) / 1e6
}

function doReferenceWork(): void {
  for (let count = 0; count < 10; count += 1) JSON.parse(JSON.stringify(ROWS))
}
