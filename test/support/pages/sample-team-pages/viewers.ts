import type { FramedViewer } from '../../../../src/control/console/frame.ts'
import type { Html } from '../../../../src/http/page.ts'
import type { Words } from '../sample-pages.ts'

/** A page of a team, with its name. */
export type Sample = [name: string, page: Html]

/** Who looks at the pages. */
export type Viewers = { readonly admin: FramedViewer; readonly member: FramedViewer }

/** An admin and a member of a team. */
export function makeViewers(words: Words): Viewers {
  return { admin: viewerOf(words, 'admin'), member: viewerOf(words, 'member') }
}

function viewerOf({ email, team }: Words, role: 'admin' | 'member'): FramedViewer {
  return { email, team, role, path: '/teams/acme/core', others: [{ team: '@acme/other', path: '/teams/acme/other' }] }
}
