/**
 * Measures each of several servers once in each round. Every second round goes through them backwards, so that none is
 * always the first. Resolves with the results of each server, round by round.
 */
export async function measureInRounds<Compared, Result>(
  compared: readonly Compared[],
  rounds: number,
  measure: (one: Compared) => Promise<Result>,
): Promise<Result[][]> {
  const results = compared.map((): Result[] => [])
  for (let round = 0; round < rounds; round += 1) {
    const order = [...compared.entries()]
    if (round % 2 === 1) order.reverse()
    for (const [index, one] of order) results[index]?.push(await measure(one))
  }
  return results
}
