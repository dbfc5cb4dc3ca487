/** An ISO 8601 time as text in the time zone of this machine: `2026-11-21 14:05`. */
export function toLocalTime(time: string): string {
  const date = new Date(time)
  const two = (value: number) => String(value).padStart(2, '0')
  const day = [date.getFullYear(), two(date.getMonth() + 1), two(date.getDate())].join('-')
  return `${day} ${two(date.getHours())}:${two(date.getMinutes())}`
}
