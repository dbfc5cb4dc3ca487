import { html } from '../../http/page.ts'
import type { Html } from '../../http/page.ts'

/**
 * Line icons of 20 by 20 pixels in the colour of the surrounding text. They are decoration: the text beside them says
 * the same.
 */
export const ICONS = {
  check: icon('M4.5 10.5l3.5 3.5 7.5-8'),
  cross: icon('M5.5 5.5l9 9m0-9l-9 9'),
  clock: icon('M10 2.75a7.25 7.25 0 1 0 0 14.5a7.25 7.25 0 0 0 0-14.5zM10 6v4.25l2.75 1.75'),
  mail: icon(
    'M4 4.5h12A1.5 1.5 0 0 1 17.5 6v8a1.5 1.5 0 0 1-1.5 1.5H4A1.5 1.5 0 0 1 2.5 14V6A1.5 1.5 0 0 1 4 4.5z' +
      'M3 6.5l7 5 7-5',
  ),
  shield: icon('M10 2.5l6 2.25v4.5c0 4-2.5 6.75-6 8.25c-3.5-1.5-6-4.25-6-8.25v-4.5zM10 6.75v3.75m0 2.5v.1'),
  key: icon('M12.75 2.75a4.5 4.5 0 1 0 0 9a4.5 4.5 0 0 0 0-9zM9.5 10.5l-6.25 6.25M5 15l2 2m.25-4.25l1.5 1.5'),
  device: icon('M4.5 4h11a1 1 0 0 1 1 1v8h-13V5a1 1 0 0 1 1-1zM2 15.75h16'),
  alert: icon('M10 3l7.25 13.25H2.75zM10 8v3.5m0 2.4v.1'),
  stream: icon('M2.5 10h3l2-5.5 4 11 2.25-5.5h3.75'),
} as const satisfies Record<string, Html>

export type IconName = keyof typeof ICONS

function icon(path: string): Html {
  return html`<svg class="icon" width="20" height="20" viewBox="0 0 20 20" fill="none" aria-hidden="true">
    <path d="${path}" stroke="currentColor" stroke-width="1.6" stroke-linecap="round" stroke-linejoin="round" />
  </svg>`
}
