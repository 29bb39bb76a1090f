import type { FastifyReply, FastifyRequest } from 'fastify'
import { ApiError, cut, defineProblems, type ProblemType } from '../http/contract/problem.ts'
import { prepareProblem } from '../http/server/send-problem.ts'

/** Errors that only this interface has. */
const hcloudProblems = defineProblems({
  hcloud_unsupported: { status: 422, title: 'Not offered here' },
  hcloud_elsewhere: { status: 403, title: 'Used by another project' },
  hcloud_not_found: { status: 404, title: 'Not found' },
  hcloud_gone: { status: 410, title: 'Gone' },
  hcloud_taken: { status: 409, title: 'The name is taken' },
  hcloud_invalid: { status: 422, title: 'Invalid input' },
})

/** The error for a feature that hcloud's tools know and Berth lacks. */
export function unsupported(what: string): ApiError {
  return new ApiError(hcloudProblems.hcloud_unsupported, what)
}

export function missing(noun: string, which: string | number): ApiError {
  return new ApiError(hcloudProblems.hcloud_not_found, `No such ${noun.replaceAll('_', ' ')}: ${which}.`)
}

/** The error for a change of an object that is also used by a server of another project. */
export function elsewhere(what: string): ApiError {
  return new ApiError(
    hcloudProblems.hcloud_elsewhere,
    `Servers of another project use this ${what}: ${CHANGE_IT_BY}.`,
  )
}
const CHANGE_IT_BY = 'change it by the API of this installation'

/** True if /v1 has no such object, and this interface did not hide it. */
export function isGone(error: unknown): boolean {
  return (
    error instanceof ApiError && error.type.status === 404 && error.type !== hcloudProblems.hcloud_not_found
  )
}

/** The error for a request that hcloud's API once accepted and refuses today. */
export function gone(what: string): ApiError {
  return new ApiError(hcloudProblems.hcloud_gone, what)
}

/** Names are unique here, because these tools find things by name. */
export function taken(noun: string, name: string): ApiError {
  const detail = `There is a ${noun.replaceAll('_', ' ')} with the name ${name} already. Choose another name.`
  return new ApiError(hcloudProblems.hcloud_taken, detail)
}

export function wrong(field: string, message: string): ApiError {
  const errors = [{ in: 'body', field, pointer: `/${field}`, code: 'invalid_format', message }]
  return new ApiError(hcloudProblems.hcloud_invalid, message, { errors })
}

/** The code of an error as these clients know it, and its status if that differs. */
const codes: Readonly<Record<string, string | readonly [string, number]>> = {
  hcloud_unsupported: 'unsupported_error',
  hcloud_not_found: 'not_found',
  hcloud_gone: 'deprecated_api_endpoint',
  hcloud_taken: 'uniqueness_error',
  hcloud_invalid: 'invalid_input',
  validation_failed: 'invalid_input',
  bad_request: 'invalid_input',
  invalid_json: 'json_error',
  payload_too_large: 'invalid_input',
  unsupported_media_type: 'invalid_input',
  method_not_allowed: 'not_found',
  rate_limited: 'rate_limit_exceeded',
  quota_exceeded: 'resource_limit_exceeded',
  insufficient_balance: ['resource_limit_exceeded', 403],
  capacity_unavailable: 'resource_unavailable',
  address_unavailable: 'resource_unavailable',
  not_supported: ['unsupported_error', 422],
  operation_in_progress: ['locked', 423],
  delete_protected: ['protected', 423],
  server_state_conflict: ['invalid_input', 422],
  ssh_key_exists: 'uniqueness_error',
  network_attached: 'server_already_attached',
  network_address_unavailable: 'ip_not_available',
  network_in_use: 'resource_in_use',
  firewall_in_use: 'resource_in_use',
  firewall_limit_reached: 'resource_limit_exceeded',
  volume_in_use: 'volume_already_attached',
  backend_unavailable: ['service_error', 503],
  internal_error: ['service_error', 500],
}

function codeOf({ code, status }: Pick<ProblemType, 'code' | 'status'>): readonly [string, number] {
  const own = codes[code]
  if (own !== undefined) return typeof own === 'string' ? [own, status] : own
  if (status === 401) return ['unauthorized', status]
  if (status === 403) return ['forbidden', status]
  if (status === 404) return ['not_found', status]
  return [status >= 500 ? 'service_error' : 'invalid_input', status]
}

/** A problem document of /v1, as far as it is used here. */
interface Document {
  code: string
  status: number
  detail: string
  errors?: readonly { field: string; message: string }[]
  current_status?: string
  allowed_statuses?: readonly string[]
}

/** Replies with an error in the form that these clients read; the text is that of /v1. */
export function sendHcloudError(
  error: ApiError | Error,
  request: FastifyRequest,
  reply: FastifyReply,
): FastifyReply {
  const document: Document = JSON.parse(prepareProblem(error, request, reply))
  const { detail, errors = [], current_status, allowed_statuses = [] } = document
  const isUnknown = document.code === 'route_not_found'
  const message = isUnknown
    ? `This installation has nothing at ${request.method} ${cut(request.url)}.`
    : detail
  const isOn = current_status === 'running' && allowed_statuses.includes('stopped')
  const [code, status] = isOn ? (['server_not_stopped', 422] as const) : codeOf(document)
  const fields = errors.map((issue) => ({ name: issue.field, messages: [issue.message] }))
  const details = fields.length > 0 ? { fields } : {}
  const body = JSON.stringify({ error: { code, message, details } })
  return reply.code(status).type('application/json').serializer(String).send(body)
}
