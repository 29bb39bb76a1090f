import { isFor, notOnOffer, type Template, type Zone } from '../catalog/file.ts'
import { bodyIssue, type Issue } from '../http/contract/problem.ts'

interface Named {
  template?: string
  template_id?: string
}

/** Finds the template that a request names, by slug or id. @returns undefined if it names none, or an unknown one */
export function readTemplate(
  { template: slug, template_id: id }: Named,
  templates: readonly Template[],
  zone: Zone | undefined,
): { template: Template | undefined; issue: Issue | null } {
  const field = slug === undefined ? 'template_id' : 'template'
  const named = slug ?? id
  const template = templates.find((offer) =>
    slug === undefined ? offer.templateId === id : offer.slug === slug,
  )
  if (named === undefined || (template && (!zone || isFor(zone, template)))) return { template, issue: null }
  const fitting = templates.filter((offer) => !zone || isFor(zone, offer)).map((offer) => offer.slug)
  const issue = template
    ? bodyIssue(field, 'not_in_enum', `No image for ${zone?.zone_slug}. On offer: ${fitting.join(', ')}.`)
    : bodyIssue(field, 'not_found', notOnOffer('template', named, fitting))
  return { template, issue }
}
