import Type, { type Static } from 'typebox'
import type { Clock } from '../clock.ts'
import type { Database, Queries } from '../database/database.ts'
import type { SshKeyTable } from '../database/schema.ts'
import type { Actor } from '../http/auth.ts'
import { requireMatch } from '../http/etag.ts'
import { LAST_MOMENT } from '../http/fields.ts'
import { listOf, paged, pagingQuery } from '../http/paging.ts'
import { bodyIssue, found, httpProblems, invalid } from '../http/problem.ts'
import { type Call, type Route, route } from '../http/route.ts'
import { findAccount } from './accounts.ts'
import {
  countProjects,
  createProject,
  deleteProject,
  findProject,
  listProjects,
  updateProject,
} from './projects.ts'
import {
  accountProblems,
  Me,
  NewToken,
  Project,
  ProjectCreate,
  ProjectUpdate,
  SshKey,
  SshKeyCreate,
  SshKeyUpdate,
  Token,
  TokenCreate,
  TokenRevocation,
} from './schema.ts'
import { addSshKey, countSshKeys, deleteSshKey, findSshKey, listSshKeys, renameSshKey } from './ssh-keys.ts'
import {
  countTokens,
  findToken,
  findValidToken,
  listTokens,
  mayRevoke,
  mintToken,
  revokeToken,
} from './tokens.ts'
import { meView, type ProjectRow, projectView, sshKeyView, tokenView } from './view.ts'

const tag = 'Account'
const paging = Type.Object(pagingQuery)
type SetHeader = (name: string, value: string) => void

/** A request whose path names an object. */
interface Naming<Param extends string> {
  actor: Pick<Actor, 'accountId'>
  params: Record<Param, string>
}

/** How many webhooks an account has: they are another feature's. */
type CountWebhooks = (db: Queries, accountId: string) => Promise<number>

export function accountRoutes(db: Database, clock: Clock, countWebhooks: CountWebhooks): Route[] {
  return [
    profileRoute(db, countWebhooks),
    ...projectsRoutes(db, clock),
    ...projectRoutes(db, clock),
    ...sshKeysRoutes(db, clock),
    ...sshKeyRoutes(db, clock),
    ...tokensRoutes(db, clock),
    ...tokenRoutes(db, clock),
  ]
}

function profileRoute(db: Database, countWebhooks: CountWebhooks): Route {
  return route({
    id: 'getAccount',
    method: 'GET',
    path: '/account/me',
    scope: 'account:read',
    tag,
    summary: 'Get the account, its quotas and the token in use',
    reply: { 200: Me },
    run: async ({ actor }) => {
      const [account, token, projects, ssh_keys, tokens, webhooks] = await Promise.all([
        findAccount(db, actor.accountId),
        findToken(db, actor.tokenId),
        countProjects(db, actor.accountId),
        countSshKeys(db, actor.accountId),
        countTokens(db, actor.accountId),
        countWebhooks(db, actor.accountId),
      ])
      return meView(account, token, { projects, ssh_keys, tokens, webhooks })
    },
  })
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
      body: ProjectCreate,
      reply: { 201: Project },
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
  const load = async ({ actor, params }: Naming<'project_id'>) => {
    const project = found(
      await findProject(db, actor.accountId, params.project_id),
      accountProblems.project_not_found,
    )
    return project
  }
  return [
    route({
      id: 'getProject',
      method: 'GET',
      hasEtag: true,
      path: '/account/projects/:project_id',
      scope: 'account:read',
      tag,
      summary: 'Get a project',
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
      query: paging,
      reply: { 200: listOf(SshKey) },
      run: (call) => paged(call, (page) => listSshKeys(db, call.actor.accountId, page), sshKeyView),
    }),
    route({
      id: 'addSshKey',
      method: 'POST',
      path: '/account/ssh_keys',
      scope: 'account:write',
      tag,
      summary: 'Add an SSH public key',
      body: SshKeyCreate,
      reply: { 201: SshKey },
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
  const load = async ({ actor, params }: Naming<'ssh_key_id'>) => {
    const key = found(
      await findSshKey(db, actor.accountId, params.ssh_key_id),
      accountProblems.ssh_key_not_found,
    )
    return key
  }
  return [
    route({
      id: 'getSshKey',
      method: 'GET',
      path: '/account/ssh_keys/:ssh_key_id',
      scope: 'account:read',
      tag,
      summary: 'Get an SSH key',
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
      params,
      load,
      body: SshKeyUpdate,
      reply: { 200: SshKey },
      run: async ({ loaded, body }) => sshKeyView(await renameSshKey(db, clock, loaded, body)),
    }),
    route({
      id: 'deleteSshKey',
      method: 'DELETE',
      path: '/account/ssh_keys/:ssh_key_id',
      scope: 'account:write',
      tag,
      summary: 'Delete an SSH key; existing servers keep it',
      params,
      load,
      reply: { 204: null },
      run: ({ loaded }) => deleteSshKey(db, clock, loaded),
    }),
  ]
}

function tokensRoutes(db: Database, clock: Clock): Route[] {
  const mint = async (
    { actor, body, remember, setHeader }: Call<never, unknown, Static<typeof TokenCreate>, unknown>,
    replaces: string | null,
  ) => {
    const { name, scopes, expires_at } = body
    const wanted = { name, scopes, expiresAt: expiryOf(expires_at, clock.now()), replaces }
    const { value, ...row } = await mintToken(db, clock, actor, wanted, remember)
    setHeader('location', `/v1/account/tokens/${row.token_id}`)
    return { ...tokenView(row), token: value }
  }
  return [
    route({
      id: 'listTokens',
      method: 'GET',
      path: '/account/tokens',
      scope: 'account:read',
      tag,
      summary: 'List API tokens',
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
      summary: 'Create an API token; its value is shown only once',
      body: TokenCreate,
      reply: { 201: NewToken },
      errors: [accountProblems.quota_exceeded, accountProblems.token_not_found],
      run: (call) => mint(call, null),
      // Its value is kept nowhere and has reached nobody: another one takes its place.
      recover: (call, tokenId) => mint(call, tokenId),
    }),
  ]
}

function tokenRoutes(db: Database, clock: Clock): Route[] {
  const path = '/account/tokens/:token_id'
  const params = { token_id: accountProblems.token_not_found }
  const load = async ({ actor, params }: Naming<'token_id'>) => {
    const token = found(
      await findValidToken(db, actor.accountId, params.token_id),
      accountProblems.token_not_found,
    )
    return token
  }
  return [
    route({
      id: 'getToken',
      method: 'GET',
      path,
      scope: 'account:read',
      tag,
      summary: 'Get an API token, without its value',
      params,
      load,
      reply: { 200: Token },
      run: async ({ loaded }) => tokenView(loaded),
    }),
    route({
      id: 'revokeToken',
      method: 'DELETE',
      path,
      scope: 'account:write',
      tag,
      summary: 'Revoke an API token at once, with those created with it',
      params,
      query: TokenRevocation,
      load,
      reply: { 204: null },
      run: async ({ actor, loaded, query }) => {
        mayRevoke(actor, loaded)
        const token = { accountId: actor.accountId, tokenId: loaded.token_id }
        await revokeToken(db, clock, token, { keepChildren: query.keep_children ?? false })
      },
    }),
  ]
}

/** @throws ApiError validation_failed */
function expiryOf(text: string | null | undefined, now: number): number | null {
  if (!text) return null
  const at = Date.parse(text)
  // Leap seconds, zones without minutes and what a zone moves into the year 10000 are no moments to a Date.
  if (Number.isNaN(at) || at > LAST_MOMENT)
    throw invalid([
      bodyIssue('expires_at', 'invalid_format', 'expires_at must be a time such as 2030-01-31T12:00:00Z.'),
    ])
  if (at <= now)
    throw invalid([bodyIssue('expires_at', 'below_minimum', 'expires_at must be in the future.')])
  return at
}
