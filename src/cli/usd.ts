/** An amount of 10^-9 USD as people read it: with four digits below a dollar, and with two above. */
export function toUsd(nano: number): string {
  return `$${(nano / 1e9).toFixed(nano < 1e9 ? 4 : 2)}`
}
