import type { TeamModel, TeamModelList } from '../../../generated/openapi.ts'
import type { ServeEntry } from '../../directory/backends.ts'
import type { SnapshotModel } from '../../directory/rules.ts'
import { serveEntriesOf } from '../../directory/serve-entries.ts'
import { versionOfModel } from '../../directory/version.ts'
import type { ModelsOfTeam } from './store.ts'

/** Converts the models of a team to the contract's. */
export function toTeamModels({ fileModels, adminModels, ...team }: ModelsOfTeam): TeamModelList {
  const models = [...fileModels.map(toFileModel), ...adminModels.map(toOwnModel)]
  return {
    defaultModel: team.defaultModel,
    defaultModelSource: team.defaultModelSource,
    models: models.toSorted((a, b) => (a.id < b.id ? -1 : 1)),
  }
}

function toFileModel(model: SnapshotModel): TeamModel {
  const { id, displayName, aliases, contextWindow, published, certified } = model
  // The answer has only `caps` that an admin has set, and these are the file's.
  const serve = serveEntriesOf(model).map(({ caps: _caps, ...entry }) => toServing(entry))
  return {
    id,
    displayName,
    source: 'file',
    aliases: [...aliases],
    serve,
    contextWindow,
    own: null,
    published,
    usable: certified,
    version: null,
  }
}

function toOwnModel({ model, usable }: ModelsOfTeam['adminModels'][number]): TeamModel {
  const { id, displayName, aliases, published } = model
  return {
    id,
    displayName,
    source: 'admin',
    aliases: [...aliases],
    serve: model.serve.map(toServing),
    contextWindow: usable?.contextWindow ?? model.contextWindow,
    own: { contextWindow: model.contextWindow, caps: model.caps },
    published,
    usable: usable !== null,
    version: versionOfModel(model),
  }
}

function toServing({ backend, model, when, rank, weight, caps }: ServeEntry) {
  return { backend, model, when, rank, weight, ...(caps && { caps }) }
}
