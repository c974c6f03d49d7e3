import type { products as en } from '../en/products.ts';

export const products: Record<keyof typeof en, string> = {
  'products.new': 'Bidhaa mpya',
  'products.active': 'Inaweza kuuzwa',
  'products.category.hint': 'Kanuni za kamisheni zinaweza kuitegemea.',
  'products.edit.lead': 'Bei hii ni ya taslimu. Akaunti hutumia kiasi cha mpango wake wa malipo.',
  'products.accounts': 'Akaunti mpya zaidi',
  'products.accounts.none': 'Hakuna aliyenunua bidhaa hii bado.',
  'products.accounts.all': 'Akaunti zote',
  'configurations.title': 'Miundo',
  'configurations.new': 'Muundo mpya',
  'configurations.none': 'Bidhaa hii haina miundo.',
  'configurations.attributes': 'Sifa',
  'configurations.attributes.hint': 'Moja kwa kila mstari, kama “paneli: 40 W”.',
  'configurations.price.hint': 'Acha wazi kutumia bei ya bidhaa.',
  'configurations.default': 'Chaguo-msingi',
  'configurations.isDefault': 'Chaguo-msingi la bidhaa hii',
  'field.price': 'Bei',
  'field.sku': 'SKU',
  'field.updatedAt': 'Mabadiliko ya mwisho',
};
