import { count, messages } from '../messages.ts'

export const useBillingText = messages({
  en: {
    title: 'Billing',
    balance: 'Balance',
    lasts: (hours: number) =>
      hours < 48
        ? `lasts ${count('en', hours, { one: 'hour', other: 'hours' })} more`
        : `lasts ${count('en', Math.floor(hours / 24), { one: 'day', other: 'days' })} more`,
    nothingBilled: 'nothing is billed now',
    topUpAbout: 'To top up, contact the operator.',
    month: 'Charged this month',
    forecast: 'At this rate, a month',
    hour: 'Per hour now',
    usage: 'Cost by server',
    monthOf: 'Month',
    server: 'Server',
    project: 'Project',
    hours: 'Hours',
    amount: 'Amount',
    noUsage: 'No charges this month',
    csv: 'Download CSV',
    ledger: 'Transactions',
    date: 'Date',
    type: 'Type',
    description: 'Description',
    after: 'Balance after',
    types: { charge: 'Charge', payment: 'Payment', refund: 'Refund', correction: 'Correction' },
    noTransactions: 'No transactions yet',
    toResume: (amount: string) => `Servers are suspended. Top up ${amount} to resume them.`,
    total: 'Total',
  },
  ru: {
    title: 'Оплата',
    balance: 'Баланс',
    lasts: (hours: number) =>
      hours < 48
        ? `хватит ещё на ${count('ru', hours, { one: 'час', few: 'часа', many: 'часов', other: 'часа' })}`
        : `хватит ещё на ${count('ru', Math.floor(hours / 24), { one: 'день', few: 'дня', many: 'дней', other: 'дня' })}`,
    nothingBilled: 'сейчас ничего не оплачивается',
    topUpAbout: 'Чтобы пополнить, обратитесь к оператору.',
    month: 'Начислено за месяц',
    forecast: 'В месяц при текущем расходе',
    hour: 'Сейчас в час',
    usage: 'Затраты по серверам',
    monthOf: 'Месяц',
    server: 'Сервер',
    project: 'Проект',
    hours: 'Часы',
    amount: 'Сумма',
    noUsage: 'В этом месяце начислений не было',
    csv: 'Скачать CSV',
    ledger: 'Операции по счёту',
    date: 'Дата',
    type: 'Тип',
    description: 'Описание',
    after: 'Баланс после',
    types: { charge: 'Начисление', payment: 'Платёж', refund: 'Возврат', correction: 'Корректировка' },
    noTransactions: 'Операций пока нет',
    toResume: (amount: string) =>
      `Серверы приостановлены. Чтобы возобновить их, пополните баланс ещё на ${amount}.`,
    total: 'Всего',
  },
})
