import type * as en from '../en/codes.ts';

export const approvalActions: Record<keyof typeof en.approvalActions, string> = {
  'approvalAction.reverse_payment': 'Batilisha malipo',
  'approvalAction.correct_payment': 'Sahihisha kiasi',
  'approvalAction.unassign_payment': 'Ondoa malipo kwenye akaunti',
  'approvalAction.refund_credit': 'Rejesha salio la ziada',
  'approvalAction.transfer_credit': 'Hamisha salio la ziada',
  'approvalAction.write_off_account': 'Futa deni vitabuni',
  'approvalAction.cancel_account': 'Tengua mauzo',
  'approvalAction.change_plan': 'Badilisha mpango',
  'approvalAction.start_bulk_deferral': 'Ahirisha akaunti nyingi',
  'approvalAction.undo_bulk_deferral': 'Tengua uahirishaji wa pamoja',
};

export const disabledReasons: Record<keyof typeof en.disabledReasons, string> = {
  'disabledReason.user': 'Imezimwa na mtumiaji',
  'disabledReason.gone': 'Imezimwa: mpokeaji alijibu 410 (haipo tena)',
  'disabledReason.failing': 'Imezimwa: matukio hayakufika kwa siku tatu',
};

export const matchMethods: Record<keyof typeof en.matchMethods, string> = {
  'matchMethod.account_number': 'Namba ya akaunti',
  'matchMethod.national_id': 'Kitambulisho cha taifa',
  'matchMethod.phone': 'Simu kama kumbukumbu',
  'matchMethod.account_id': 'Kitambulisho cha akaunti',
  'matchMethod.payer_phone': 'Simu ya mlipaji',
  'matchMethod.learned': 'Kumbukumbu iliyowekwa kwenye akaunti awali',
  'matchMethod.payment_request': 'Ombi la malipo',
  'matchMethod.manual_entry': 'Malipo yaliyoingizwa kwa mkono',
  'matchMethod.assigned': 'Yaliwekwa kwenye akaunti na mfanyakazi',
};

export const paymentRequestReasons: Record<keyof typeof en.paymentRequestReasons, string> = {
  'paymentRequestReason.cancelled': 'Mteja alighairi',
  'paymentRequestReason.insufficient_funds': 'Pesa hazitoshi',
  'paymentRequestReason.wrong_pin': 'PIN si sahihi',
  'paymentRequestReason.phone_busy': 'Simu ina ombi lingine',
  'paymentRequestReason.refused': 'Mtoa huduma amekataa',
  'paymentRequestReason.no_answer': 'Mteja hakujibu',
  'paymentRequestReason.not_sent': 'Halikuweza kutumwa',
};

export const approvalStatuses = {
  'approvalStatus.pending': 'Linasubiri idhini',
  'approvalStatus.approved': 'Limeidhinishwa',
  'approvalStatus.rejected': 'Limekataliwa',
  'approvalStatus.withdrawn': 'Limeondolewa',
  'approvalStatus.obsolete': 'Limepitwa na wakati',
};

export const phoneProblems: Record<keyof typeof en.phoneProblems, string> = {
  'phoneProblem.invalid': 'Si namba sahihi',
  'phoneProblem.other_customer': 'Namba ya mteja mwingine',
  'phoneProblem.other_account': 'Hulipia akaunti nyingine',
};

export const paymentSources: Record<keyof typeof en.paymentSources, string> = {
  'paymentSource.manual': 'Yaliingizwa na mfanyakazi',
  'paymentSource.webhook': 'Arifa ya mtoa huduma',
  'paymentSource.import': 'Taarifa ya mtoa huduma',
  'paymentSource.pull': 'Yaliulizwa kwa mtoa huduma',
};

export const callResults: Record<keyof typeof en.callResults, string> = {
  'callResult.no_answer': 'Hapokei',
  'callResult.wrong_number': 'Namba si sahihi',
  'callResult.reached': 'Amepatikana',
  'callResult.promise': 'Ahadi',
  'callResult.dispute': 'Malalamiko',
  'callResult.other': 'Nyingine',
};

export const callKinds: Record<keyof typeof en.callKinds, string> = {
  'callKind.call': 'Simu',
  'callKind.visit': 'Ziara',
};

export const roleHints: Record<keyof typeof en.roleHints, string> = {
  'roleHint.admin': 'kila kitu',
  'roleHint.manager': 'mauzo, katalogi na fedha',
  'roleHint.finance': 'fedha na ripoti',
  'roleHint.agent': 'mauzo na malipo',
  'roleHint.collector': 'kusoma na kuwapigia wateja waliochelewa; bila fedha wala mauzo',
  'roleHint.viewer': 'kusoma tu',
};

export const commissionStatuses: Record<keyof typeof en.commissionStatuses, string> = {
  'commissionStatus.calculated': 'Imekokotolewa',
  'commissionStatus.approved': 'Imeidhinishwa',
  'commissionStatus.paid': 'Imelipwa',
};

export const userEmployees: Record<keyof typeof en.userEmployees, string> = {
  'users.employee.hint': 'Wakala huona wateja waliochelewa na kamisheni za mfanyakazi huyu.',
  'users.noEmployee': 'Hakuna',
};

export const commissionTabs: Record<keyof typeof en.commissionTabs, string> = {
  'commissions.month': 'Mwezi',
  'commissions.unclaimed': 'Mauzo bila kamisheni',
  'commissionRules.title': 'Kanuni',
};

export const planChangeKinds: Record<keyof typeof en.planChangeKinds, string> = {
  'planChangeKind.deferral': 'Awamu zimeahirishwa',
  'planChangeKind.revision': 'Mpango umepangwa upya',
  'planChangeKind.discount': 'Punguzo',
  'planChangeKind.price_correction': 'Bei imesahihishwa',
  'planChangeKind.price_rise': 'Bei imepandishwa',
  'planChangeKind.sale_correction': 'Mauzo yamesahihishwa',
  'planChangeKind.payoff': 'Malipo ya mapema',
  'planChangeKind.undo': 'Badiliko limetenguliwa',
  'planChangeKind.imported': 'Imeletwa na mabadiliko yake',
  'planChanges.effective': 'Tangu',
  'planChanges.kind': 'Badiliko',
  'planChanges.price': 'Bei',
  'planChanges.undone': 'Limetenguliwa',
  'planOutcome.moved': 'Awamu zilizosogezwa: {count}, ya kwanza kutoka {from} hadi {to}',
  'planOutcome.made': 'Awamu mpya: {count}, kuanzia {first} hadi {last}',
  'planOutcome.arrears': 'Malimbikizo yaliyosogezwa: {amount}',
};

export const planChangeRequests: Record<keyof typeof en.planChangeRequests, string> = {
  'changePlan.kind.deferral': 'Ahirisha awamu',
  'changePlan.kind.discount': 'Toa punguzo',
  'changePlan.kind.price_correction': 'Sahihisha bei kwa kupunguza',
  'changePlan.kind.revision': 'Panga upya awamu zilizobaki',
  'changePlan.kind.price_rise': 'Pandisha bei',
  'changePlan.kind.sale_correction': 'Sahihisha mauzo: mpango mwingine',
  'changePlan.kind.undo': 'Tengua badiliko la mwisho',
};
