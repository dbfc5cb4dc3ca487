/** OpenAI: "try again in 1m2.5s" or "in 644ms"; Google: "retry in 34.07s"; Azure: "retry after 26 seconds". */
const RETRY_TIME =
  /\b(?:try again|retry) (?:in|after) (?:(\d{1,4})h)?(?:(\d{1,5})m)?(?:(\d{1,7}(?:\.\d*)?) ?(s|ms|seconds?))?\b/i

/** Reads the time in whole seconds after which a vendor's message says to repeat the call; null when it says none. */
export function readRetryTime(message: string): number | null {
  const [, hours = 0, minutes = 0, rest = 0, unit = 's'] = RETRY_TIME.exec(message) ?? []
  const seconds = unit === 'ms' ? Number(rest) / 1000 : Number(rest)
  const whole = Math.ceil(Number(hours) * 3600 + Number(minutes) * 60 + seconds)
  return whole > 0 ? whole : null
}
