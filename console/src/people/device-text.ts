import { messages } from '../messages.ts'

export const useDeviceText = messages({
  en: {
    title: 'Sign in on another device',
    about: 'A program such as berth shows a code and waits for you to let it in.',
    code: 'Code',
    codeHint: 'As the program shows it, such as WDJB-MJHT.',
    next: 'Next',
    program: 'Program',
    address: 'Address',
    hereToo: 'the network that you are in, too',
    elsewhere: 'not the network that you are in',
    started: 'Started',
    allows: 'It may do',
    byRole: (role: string) => `All that your role (${role}) allows`,
    account: 'Account',
    beware:
      'Approve only what you have started yourself, a moment ago. Whoever sends you a code or a link to this page wants to get into your account.',
    approve: 'Approve',
    deny: 'Deny',
    approved: 'Approved',
    approvedAbout:
      'The program logs in within seconds; you can close this page. Its token is under Tokens, where you can revoke it.',
    denied: 'Denied',
    deniedAbout: 'The program was not let in.',
    noAccount: 'You are in no account that it could be let into.',
  },
  ru: {
    title: 'Вход на другом устройстве',
    about: 'Программа, например berth, показывает код и ждёт, когда вы её впустите.',
    code: 'Код',
    codeHint: 'Как его показывает программа, например WDJB-MJHT.',
    next: 'Далее',
    program: 'Программа',
    address: 'Адрес',
    hereToo: 'вы в той же сети',
    elsewhere: 'вы в другой сети',
    started: 'Начат',
    allows: 'Сможет',
    byRole: (role: string) => `Всё, что позволяет ваша роль (${role})`,
    account: 'Аккаунт',
    beware:
      'Подтверждайте только то, что вы сами только что начали. Тот, кто прислал вам код или ссылку на эту страницу, хочет попасть в ваш аккаунт.',
    approve: 'Подтвердить',
    deny: 'Отклонить',
    approved: 'Подтверждено',
    approvedAbout:
      'Программа войдёт через несколько секунд, страницу можно закрыть. Её токен — в разделе «Токены», там его можно отозвать.',
    denied: 'Отклонено',
    deniedAbout: 'Программа не получила доступа.',
    noAccount: 'Вы не состоите ни в одном аккаунте, куда её можно было бы впустить.',
  },
})
