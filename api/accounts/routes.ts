import Type, { type Static } from 'typebox'
import type { Clock } from '../clock.ts'
import type { Database } from '../database/database.ts'
import type { Actor } from '../http/contract/auth.ts'
import { requireMatch } from '../http/contract/etag.ts'
import { listOf, paged, pagingQuery } from '../http/contract/paging.ts'
import { found, httpProblems } from '../http/contract/problem.ts'
import { type Call, type Route, route, type SetHeader } from '../http/contract/route.ts'
import { type Minting, mintToken } from './minting.ts'
import { type ProfileOptions, profileRoute } from './profile.ts'
import {
  createProject,
  deleteProject,
  findProject,
  listProjects,
  projectQuota,
  updateProject,
} from './projects.ts'
import { atLimit } from './quotas.ts'
import { mayRevoke, revokeToken } from './revocation.ts'
import {
  accountProblems,
  NewToken,
  Project,
  ProjectCreate,
  ProjectUpdate,
  SshKey,
  SshKeyCreate,
  SshKeyQuery,
  SshKeyUpdate,
  Token,
  TokenCreate,
  TokenRevocation,
} from './schema.ts'
import { addSshKey, deleteSshKey, findSshKey, listSshKeys, sshKeyQuota, updateSshKey } from './ssh-keys.ts'
import type { SshKeyTable } from './tables.ts'
import { readToken } from './token-input.ts'
import { findValidToken, listTokens, tokenQuota } from './tokens.ts'
import { type ProjectRow, projectView, sshKeyView, tokenView } from './view.ts'

const tag = 'Account'
const paging = Type.Object(pagingQuery)

/** A request whose path names an object. */
interface Naming<Param extends string> {
  actor: Pick<Actor, 'accountId'>
  params: Record<Param, string>
}

export function accountRoutes(options: ProfileOptions & Minting): Route[] {
  const { db, clock } = options
  return [
    profileRoute(options),
    ...projectsRoutes(db, clock),
    ...projectRoutes(db, clock),
    ...sshKeysRoutes(db, clock),
    ...sshKeyRoutes(db, clock),
    ...tokensRoutes(options),
    ...tokenRoutes(db, clock),
  ]
}

function projectsRoutes(db: Database, clock: Clock): Route[] {
  const shown = (project: ProjectRow, setHeader: SetHeader) => {
    setHeader('location', `/v1/account/projects/${project.project_id}`)
    return projectView(project)
  }
  return [
    route({
      id: 'listProjects',
      method: 'GET',
      path: '/account/projects',
      scope: 'account:read',
      tag,
      summary: 'List projects',
      description: 'Returns the projects, newest first. Every account has at least its default project.',
      query: paging,
      reply: { 200: listOf(Project) },
      run: (call) => paged(call, (page) => listProjects(db, call.actor.accountId, page), projectView),
    }),
    route({
      id: 'createProject',
      method: 'POST',
      path: '/account/projects',
      scope: 'account:write',
      tag,
      summary: 'Create a project',
      description:
        'A project groups servers, and usage is reported by project. It costs nothing and gives no separate access: every token of the account reaches all projects.',
      body: ProjectCreate,
      reply: { 201: Project },
      problems: { quota_exceeded: atLimit(projectQuota) },
      errors: [accountProblems.quota_exceeded, accountProblems.project_not_found],
      run: async (call) => {
        const { name, description = null } = call.body
        const { accountId } = call.actor
        return shown(
          await createProject(db, clock, accountId, { name, description }, call.remember),
          call.setHeader,
        )
      },
      recover: async (call, projectId) => {
        const project = found(
          await findProject(db, call.actor.accountId, projectId),
          accountProblems.project_not_found,
        )
        return shown(project, call.setHeader)
      },
    }),
  ]
}

function projectRoutes(db: Database, clock: Clock): Route[] {
  const params = { project_id: accountProblems.project_not_found }
  const load = async ({ actor, params }: Naming<'project_id'>) =>
    found(await findProject(db, actor.accountId, params.project_id), accountProblems.project_not_found)
  return [
    route({
      id: 'getProject',
      method: 'GET',
      hasEtag: true,
      path: '/account/projects/:project_id',
      scope: 'account:read',
      tag,
      summary: 'Get a project',
      description:
        'The reply has an `ETag`: send it as `If-Match` with a change, to avoid overwriting the change of another client. The default project is the one with `is_default`.',
      params,
      load,
      reply: { 200: Project },
      run: async ({ loaded }) => projectView(loaded),
    }),
    route({
      id: 'updateProject',
      method: 'PATCH',
      path: '/account/projects/:project_id',
      scope: 'account:write',
      tag,
      summary: 'Update a project',
      description:
        'Changes the fields in the body and leaves the others as they are. With `If-Match`, the request fails with 412 if the project was changed meanwhile.',
      params,
      load,
      body: ProjectUpdate,
      reply: { 200: Project },
      errors: [httpProblems.precondition_failed],
      run: async ({ loaded, body, ifMatch }) => {
        const check = (current: ProjectRow) => requireMatch(ifMatch, projectView(current))
        return projectView(await updateProject(db, clock, loaded, body, check))
      },
    }),
    route({
      id: 'deleteProject',
      method: 'DELETE',
      path: '/account/projects/:project_id',
      scope: 'account:write',
      tag,
      summary: 'Delete an empty project',
      description:
        'Only a project without servers can be deleted: move them to another with `PATCH /servers/{server_id}`, or delete them first. The default project cannot be deleted.',
      params,
      load,
      reply: { 204: null },
      errors: [accountProblems.project_not_empty, accountProblems.project_is_default],
      run: ({ loaded }) => deleteProject(db, clock, loaded),
    }),
  ]
}

function sshKeysRoutes(db: Database, clock: Clock): Route[] {
  const shown = (key: SshKeyTable, setHeader: SetHeader) => {
    setHeader('location', `/v1/account/ssh_keys/${key.ssh_key_id}`)
    return sshKeyView(key)
  }
  return [
    route({
      id: 'listSshKeys',
      method: 'GET',
      path: '/account/ssh_keys',
      scope: 'account:read',
      tag,
      summary: 'List SSH keys',
      description:
        'The public keys that new servers can accept, newest first. Servers keep the keys that they were created with, whatever happens to this list.',
      query: SshKeyQuery,
      reply: { 200: listOf(SshKey) },
      run: (call) =>
        paged(call, (page) => listSshKeys(db, call.actor.accountId, call.query.label, page), sshKeyView),
    }),
    route({
      id: 'addSshKey',
      method: 'POST',
      path: '/account/ssh_keys',
      scope: 'account:write',
      tag,
      summary: 'Add an SSH public key',
      description:
        'The key can then be given to new servers in `ssh_key_ids`; existing servers do not get it. A key whose fingerprint the account already has returns 409 with its id; a private key is rejected.',
      body: SshKeyCreate,
      reply: { 201: SshKey },
      problems: { quota_exceeded: atLimit(sshKeyQuota) },
      errors: [
        accountProblems.ssh_key_exists,
        accountProblems.quota_exceeded,
        accountProblems.ssh_key_not_found,
      ],
      run: async (call) =>
        shown(await addSshKey(db, clock, call.actor.accountId, call.body, call.remember), call.setHeader),
      recover: async (call, sshKeyId) => {
        const key = found(
          await findSshKey(db, call.actor.accountId, sshKeyId),
          accountProblems.ssh_key_not_found,
        )
        return shown(key, call.setHeader)
      },
    }),
  ]
}

function sshKeyRoutes(db: Database, clock: Clock): Route[] {
  const params = { ssh_key_id: accountProblems.ssh_key_not_found }
  const load = async ({ actor, params }: Naming<'ssh_key_id'>) =>
    found(await findSshKey(db, actor.accountId, params.ssh_key_id), accountProblems.ssh_key_not_found)
  return [
    route({
      id: 'getSshKey',
      method: 'GET',
      path: '/account/ssh_keys/:ssh_key_id',
      scope: 'account:read',
      tag,
      summary: 'Get an SSH key',
      description:
        'Shows the public key and its fingerprint, to compare with `ssh-keygen -l`. A deleted key returns 404, even while servers still accept it.',
      params,
      load,
      reply: { 200: SshKey },
      run: async ({ loaded }) => sshKeyView(loaded),
    }),
    route({
      id: 'updateSshKey',
      method: 'PATCH',
      path: '/account/ssh_keys/:ssh_key_id',
      scope: 'account:write',
      tag,
      summary: 'Rename an SSH key',
      description:
        'Only the name can be changed. To replace the key itself, add another and delete this one.',
      params,
      load,
      body: SshKeyUpdate,
      reply: { 200: SshKey },
      run: async ({ loaded, body }) => sshKeyView(await updateSshKey(db, clock, loaded, body)),
    }),
    route({
      id: 'deleteSshKey',
      method: 'DELETE',
      path: '/account/ssh_keys/:ssh_key_id',
      scope: 'account:write',
      tag,
      summary: 'Delete an SSH key',
      description:
        'New servers can no longer be given this key. Existing servers keep it: to end its access, remove it from `authorized_keys` on each of them.',
      params,
      load,
      reply: { 204: null },
      run: ({ loaded }) => deleteSshKey(db, clock, loaded),
    }),
  ]
}

function tokensRoutes(minting: Minting): Route[] {
  const { db, clock } = minting
  const mint = async (
    { actor, body, remember, report, setHeader }: Call<never, unknown, Static<typeof TokenCreate>, unknown>,
    replaces: string | null,
  ) => {
    const wanted = { ...readToken(body, clock.now()), replaces }
    const { value, ...row } = await mintToken(minting, actor, wanted, remember)
    report({ event: 'token_created', objectId: row.token_id })
    setHeader('location', `/v1/account/tokens/${row.token_id}`)
    return { ...tokenView(row), token: value }
  }
  return [
    route({
      id: 'listTokens',
      isAboutAccess: true,
      method: 'GET',
      path: '/account/tokens',
      scope: 'account:read',
      tag,
      summary: 'List API tokens',
      description:
        'The tokens of the account that are not revoked, newest first and without their values. `last_used_at` shows which are still in use.',
      query: paging,
      reply: { 200: listOf(Token) },
      run: (call) => paged(call, (page) => listTokens(db, call.actor.accountId, page), tokenView),
    }),
    route({
      id: 'createToken',
      method: 'POST',
      path: '/account/tokens',
      scope: 'account:write',
      tag,
      summary: 'Create an API token',
      description:
        'The reply shows the value of the token in `token`, only once: store it immediately. A token cannot have scopes that the one creating it lacks, does not outlive it, and is revoked with it. A repeat with the same `Idempotency-Key` must use the same token.',
      isOfToken: true,
      body: TokenCreate,
      reply: { 201: NewToken },
      problems: { quota_exceeded: atLimit(tokenQuota) },
      errors: [accountProblems.quota_exceeded, accountProblems.token_not_found],
      run: (call) => mint(call, null),
      // The value is not stored and was never delivered, so another token replaces this one.
      recover: (call, tokenId) => mint(call, tokenId),
    }),
  ]
}

function tokenRoutes(db: Database, clock: Clock): Route[] {
  const path = '/account/tokens/:token_id'
  const params = { token_id: accountProblems.token_not_found }
  const load = async ({ actor, params }: Naming<'token_id'>) =>
    found(await findValidToken(db, actor.accountId, params.token_id), accountProblems.token_not_found)
  return [
    route({
      id: 'getToken',
      method: 'GET',
      path,
      scope: 'account:read',
      tag,
      summary: 'Get an API token, without its value',
      description:
        'Shows its scopes, expiry and last use; its value cannot be shown again. A revoked token returns 404.',
      params,
      load,
      reply: { 200: Token },
      run: async ({ loaded }) => tokenView(loaded),
    }),
    route({
      id: 'revokeToken',
      isAboutAccess: true,
      method: 'DELETE',
      path,
      scope: 'account:write',
      tag,
      summary: 'Revoke an API token',
      description:
        'The token stops working at once, and so do all tokens created with it, unless `keep_children` is true; open event streams end. A token can revoke itself and tokens that it could have created. A token with a scope that it lacks, with a later expiry, or with more allowed addresses returns 403.',
      params,
      query: TokenRevocation,
      load,
      errors: [accountProblems.token_not_revocable],
      reply: { 204: null },
      run: async ({ actor, loaded, query, report }) => {
        await mayRevoke(db, actor, loaded)
        const token = { accountId: actor.accountId, tokenId: loaded.token_id }
        await revokeToken(db, clock, token, { keepChildren: query.keep_children ?? false })
        report({ event: 'token_revoked', objectId: token.tokenId })
      },
    }),
  ]
}
