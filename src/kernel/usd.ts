/** 10^-9 USD as USD for people: with cents, or with two digits that are not zero where it is less than a cent. */
export function writeUsd(nano: number): string {
  const usd = nano / 1e9
  if (nano <= 0 || usd >= 0.01) return usd.toFixed(2)
  return usd.toFixed(Math.min(9, 1 - Math.floor(Math.log10(usd))))
}
