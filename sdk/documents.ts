import { everyItem } from './paging.ts'
import type { Call, CallOptions, Query } from './request.ts'

export function documents(call: Call) {
  const list = (query: Query<'GET /account/documents'> = {}, options?: CallOptions) =>
    call('GET /account/documents', { query }, options)
  return {
    /** One page of invoices, statements and corrections. */
    list,
    /** All, page by page. */
    listAll: (options?: CallOptions) => everyItem(list, 'document_id', {}, options),
    /** With its lines, and with its corrections. */
    get: (document_id: string, options?: CallOptions) =>
      call('GET /account/documents/{document_id}', { path: { document_id } }, options),
    /** In the language of the account's owner at the time of issue. */
    pdf: (document_id: string, options?: CallOptions) =>
      call('GET /account/documents/{document_id}/content.pdf', { path: { document_id } }, options),
    /** Returns the same as `pdf`, because this client requests no other content type. */
    content: (document_id: string, options?: CallOptions) =>
      call('GET /account/documents/{document_id}/content', { path: { document_id } }, options),
    csv: (document_id: string, options?: CallOptions) =>
      call('GET /account/documents/{document_id}/content.csv', { path: { document_id } }, options),
  }
}
