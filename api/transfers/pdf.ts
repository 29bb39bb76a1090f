import { LARGE, printed, type Sheet } from '../billing/documents/sheet.ts'
import { amountOf, dayOf } from '../billing/documents/text.ts'
import type { Transfer } from './schema.ts'

/** The account's name and address on invoices, and the language of its people. */
export interface Payer {
  name: string
  email: string
  language: 'en' | 'ru'
}

interface Text {
  title: (reference: string, day: string) => string
  payee: string
  taxId: (id: string) => string
  bank: string
  bic: string
  account: string
  correspondent: string
  payer: string
  purpose: string
  purposeAbout: string
  service: string
  amount: string
  total: string
  until: (day: string) => string
  page: (number: number, of: number) => string
}

const texts: Record<Payer['language'], Text> = {
  en: {
    title: (reference, day) => `Invoice ${reference} of ${day}`,
    payee: 'Payee',
    taxId: (id) => `Tax id ${id}`,
    bank: 'Bank',
    bic: 'BIC',
    account: 'Account',
    correspondent: 'Correspondent account',
    payer: 'Payer',
    purpose: 'Purpose of the transfer',
    purposeAbout: 'State it as it is here: the payment is found by it.',
    service: 'Advance for services: the balance of the account',
    amount: 'Amount, RUB',
    total: 'To pay',
    until: (day) => `Pay until ${day}.`,
    page: (number, of) => `Page ${number} of ${of}`,
  },
  ru: {
    title: (reference, day) => `Счёт на оплату ${reference} от ${day}`,
    payee: 'Получатель',
    taxId: (id) => `ИНН ${id}`,
    bank: 'Банк',
    bic: 'БИК',
    account: 'Расчётный счёт',
    correspondent: 'Корр. счёт',
    payer: 'Плательщик',
    purpose: 'Назначение платежа',
    purposeAbout: 'Укажите его без изменений: по нему находят платёж.',
    service: 'Аванс за услуги: пополнение баланса аккаунта',
    amount: 'Сумма, руб.',
    total: 'К оплате',
    until: (day) => `Оплатить до ${day}`,
    page: (number, of) => `Страница ${number} из ${of}`,
  },
}

/** Renders an invoice for a bank transfer as PDF, with the details that a bank requires. */
export function transferPdf(accountId: string, transfer: Transfer, payer: Payer): Promise<Buffer> {
  const { reference, created_at, transfer_id } = transfer
  const { language } = payer
  const t = texts[language]
  return printed(
    { accountId, title: reference, language, at: Date.parse(created_at) },
    async (sheet) => {
      sheet.line(t.title(reference, dayOf(language, created_at)), { isBold: true, size: LARGE })
      sheet.gap()
      payeeOf(sheet, transfer, t)
      bankOf(sheet, transfer, t)
      sheet.line(t.payer, { isBold: true })
      sheet.line(payer.name)
      if (payer.email !== payer.name) sheet.line(payer.email)
      sheet.gap()
      await sumOf(sheet, transfer, payer)
    },
    { text: transfer_id, page: t.page },
  )
}

function payeeOf(sheet: Sheet, { payee }: Transfer, t: Text): void {
  sheet.line(t.payee, { isBold: true })
  sheet.line(payee.name)
  sheet.line(payee.address)
  sheet.line(t.taxId(payee.tax_id))
  sheet.gap()
}

function bankOf(sheet: Sheet, { payee, reference }: Transfer, t: Text): void {
  sheet.line(t.bank, { isBold: true })
  sheet.line(payee.bank_name)
  const correspondent = payee.correspondent_account
  for (const [text, value] of [
    [t.bic, payee.bank_bic],
    [t.account, payee.bank_account],
    ...(correspondent === null ? [] : ([[t.correspondent, correspondent]] as const)),
  ] as const)
    sheet.line(`${text}: ${value}`)
  sheet.gap()
  sheet.line(t.purpose, { isBold: true })
  sheet.line(reference, { isBold: true, size: 12 })
  sheet.line(t.purposeAbout)
  sheet.gap()
}

async function sumOf(sheet: Sheet, { amount_rub, expires_at }: Transfer, { language }: Payer): Promise<void> {
  const t = texts[language]
  const amount = amountOf(language, amount_rub)
  await sheet.row({ text: t.service, amount: t.amount, isBold: true })
  sheet.rule()
  await sheet.row({ text: t.total, amount, isBold: true })
  sheet.gap()
  sheet.line(t.until(dayOf(language, expires_at)))
}
