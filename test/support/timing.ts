/** How long each request of a row took, one after the other, in milliseconds. */
export async function timesOf(rounds: number, ask: (round: number) => Promise<unknown>): Promise<number[]> {
  const times: number[] = []
  for (let round = 0; round < rounds; round += 1) {
    const startedAt = performance.now()
    await ask(round)
    times.push(performance.now() - startedAt)
  }
  return times
}

/** The middle one of these numbers; what a busy machine does to some of them does not move it. */
export function median(numbers: readonly number[]): number {
  const sorted = numbers.toSorted((a, b) => a - b)
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN
}
