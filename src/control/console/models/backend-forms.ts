import type { TeamModelsForm } from '../../../../generated/openapi.ts'
import type { AdminBackend } from '../../../directory/admin-backends.ts'
import { refuseOutdated, versionOfBackend } from '../../../directory/version.ts'
import { DIALECT_NAMES } from '../../../kernel/dialect.ts'
import { prefixOfTeam } from '../../../kernel/team-name.ts'
import type { DirectoryRefusal } from '../../directory-change.ts'
import { required } from '../../request-fields.ts'
import type { TeamBackends } from '../../team-backends/flow.ts'
import type { TeamNotice } from '../notices.ts'
import type { Viewer } from '../viewer.ts'
import { refuse } from './form-mistakes.ts'
import { toOutcome } from './models-outcome.ts'
import type { ModelsOutcome } from './models-outcome.ts'

/** Makes the receiver of the forms for the backends that admins add. */
export function makeBackendForms({ backends, changes }: TeamBackends) {
  async function save(admin: Viewer, form: TeamModelsForm): Promise<ModelsOutcome> {
    const given = required('backend', form.backend)
    const name = form.action === 'add-backend' ? prefixOfTeam(admin.team) + given : given
    const existing = (await backends.findAdded(admin.teamId)).find((backend) => backend.name === name) ?? null
    if (form.action === 'add-backend' && existing) return refuse(form, 'backend_taken', EXISTS)
    if (form.action === 'change-backend' && !existing) return refuse(form, 'unknown_backend')
    // Checked first: a page that reports another mistake has the current version, and the next save would pass.
    const outdated = refuseOutdated(form.version, existing && versionOfBackend(existing))
    if (outdated) return refuse(form, 'backend_taken', outdated.mistakes)
    if (movesCredential(form, existing)) return refuse(form, 'backend_invalid', MOVED)
    const settings = {
      version: form.version,
      dialects: DIALECT_NAMES.filter((dialect) => form[dialect] === '1'),
      url: required('url', form.url),
      ...(form.basePath && { basePath: form.basePath }),
      credential: toCredential(form),
    }
    const refusal = await changes.put(admin, name, settings)
    if (!refusal) return toOutcome('backend_saved')
    if (refusal === 'reauthenticate') return refuse(form, 'reauthenticate')
    if (refusal === 'off') return refuse(form, 'backends_off')
    return refuse(form, REFUSALS[refusal.kind], refusal.mistakes)
  }

  return async (admin: Viewer, form: TeamModelsForm): Promise<ModelsOutcome> => {
    if (form.action !== 'delete-backend') return save(admin, form)
    const refusal = await changes.remove(admin, required('backend', form.backend))
    return refusal ? refuse(form, REFUSALS[refusal.kind], refusal.mistakes) : toOutcome('backend_deleted')
  }
}

const EXISTS = [{ path: ['name'], message: 'the team has a backend with this name. Change that one.' }]

/** Whether the form changes only the header of a stored credential. A header is saved only with a new credential. */
function movesCredential({ credential, credentialAs, removeCredential }: TeamModelsForm, backend: AdminBackend | null) {
  const { as = credentialAs } = backend?.credential ?? {}
  return !credential && removeCredential !== '1' && credentialAs !== undefined && credentialAs !== as
}

const MOVED = [{ path: ['credential'], message: 'must be typed again when "Sent as" changes.' }]

/** Undefined: the credential stays as it is. */
function toCredential({ credential, credentialAs, removeCredential }: TeamModelsForm) {
  if (credential) return { value: credential, as: credentialAs }
  return removeCredential === '1' ? null : undefined
}

const REFUSALS: Readonly<Record<DirectoryRefusal['kind'], TeamNotice>> = {
  invalid: 'backend_invalid',
  not_found: 'unknown_backend',
  taken: 'backend_taken',
  busy: 'directory_busy',
}
