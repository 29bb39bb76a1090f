import { escapeHtml, type Mail } from '../../mail/mailer.ts'
import type { PersonTable } from '../person/tables.ts'
import { type Facts, type Kind, type Letter, letters } from './letters.ts'

/**
 * A mail in the reader's language, as text and as a page.
 * @param link the target of its button
 */
export function letter(
  to: { email: string; language: PersonTable['language'] },
  kind: Kind,
  link: URL,
  facts: Partial<Facts> = {},
): Mail {
  const all = { site: link.host, invitedBy: '', reason: '', ...facts }
  return mailOf(to, letters[to.language][kind](all), link)
}

/** A page of the console for the account that a mail is about, since its reader may be in several. */
export function pageOfAccount(siteUrl: string, path: string, accountId: string): URL {
  const page = new URL(path, siteUrl)
  page.searchParams.set('account', accountId)
  return page
}

/** A mail with these words. @param link the target of its button */
export function mailOf(
  to: { email: string; language: PersonTable['language'] },
  { subject, before, button, after }: Letter,
  link: URL,
): Mail {
  const text = [...before, `${button}: ${link}`, after].join('\n\n')
  const paragraphs = before.map((line) => `<p>${escapeHtml(line)}</p>`).join('\n')
  const html = `<!doctype html>
<html lang="${to.language}">
<body style="font: 16px/1.5 sans-serif; max-width: 36em; margin: 2em auto; padding: 0 1em">
${paragraphs}
<p><a href="${escapeHtml(String(link))}">${escapeHtml(button)}</a></p>
<p>${escapeHtml(after)}</p>
</body>
</html>
`
  return { to: to.email, subject, text: `${text}\n`, html, link: link.href }
}
