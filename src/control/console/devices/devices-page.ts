import { html } from '../../../http/page.ts'
import type { Html } from '../../../http/page.ts'
import { actionButton } from '../../pages/buttons.ts'
import { deviceNamed, fold, time } from '../../pages/parts.ts'
import { writeTimeCursor } from '../../paging.ts'
import type { TimeCursor } from '../../paging.ts'
import type { TeamDevice } from '../../team-devices/store.ts'
import { teamPage } from '../frame.ts'
import type { FramedViewer } from '../frame.ts'
import { noticeOf } from '../notices.ts'
import type { TeamNotice } from '../notices.ts'
import { pageLinks } from '../table.ts'

export type TeamDevicesPage = {
  readonly devices: readonly TeamDevice[]
  /** Where the page before ended; null on the first page. */
  readonly before: TimeCursor | null
  /** The last device of the page; null on the last page. */
  readonly next: TeamDevice | null
  readonly notice: TeamNotice | null
}

/** The devices and browsers that are signed in to a team, for its admins. */
export function teamDevicesPage(viewer: FramedViewer, { devices, before, next, notice }: TeamDevicesPage): Html {
  const path = `${viewer.path}/devices`
  const here = before ? toPage(path, before) : path
  const pages = { first: before && path, next: next && toPage(path, { at: next.lastSeenAt, id: next.id }) }
  return teamPage(
    viewer,
    'devices',
    html`${noticeOf(notice)}
      <section class="part" aria-labelledby="devices">
        <h2 id="devices">Signed-in devices and browsers, the last seen first</h2>
        ${
          devices.length === 0
            ? html`<p class="empty">${before ? 'There are no more devices.' : 'Nothing is signed in to this team.'}</p>`
            : html`<ul class="rows">
                ${devices.map((device) => deviceRow(device, here))}
              </ul>`
        }
        ${pageLinks(pages, 'More devices')}
      </section>`,
  )
}

/** The path of the page that begins after a device. */
function toPage(path: string, before: TimeCursor): string {
  return `${path}?before=${writeTimeCursor(before)}`
}

function deviceRow({ kind, id, email, deviceName, ...device }: TeamDevice, path: string): Html {
  return html`<li class="row device">
    <p class="row-name">
      ${deviceNamed(deviceName)} ${kind === 'browser' && html`<span class="badge plain">Browser</span>`}
    </p>
    <p class="row-facts">
      <span class="name">${email}</span>
      <span>Last seen ${time(device.lastSeenAt)} from <span class="ip">${device.lastIp}</span></span>
      <span>First seen ${time(device.firstSeenAt)}</span>
    </p>
    ${fold(
      'Sign out',
      `the ${kind} ${deviceName} of ${email}`,
      html`<p>
          Sign out ${deviceNamed(deviceName)} of <span class="name">${email}</span>? Its access ends within seconds.
          They can sign in again.
        </p>
        <form method="post" action="${path}">
          <input type="hidden" name="sessionId" value="${id}" />
          ${actionButton('sign-out', `Sign out this ${kind}`, 'danger')}
        </form>`,
    )}
  </li>`
}
