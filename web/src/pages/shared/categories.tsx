import { nameOfKey } from '../../i18n/index.ts';
import { useProducts } from './catalogue.ts';

export const CATEGORIES_ID = 'categories';

/**
 * The categories of all products, for a field with `list={CATEGORIES_ID}`. A commission rule applies only to products whose category
 * has exactly the same text.
 */
export function Categories() {
  const categories = new Set(useProducts().map(({ category }) => category));
  return (
    <datalist id={CATEGORIES_ID}>
      {[...categories].sort().map((category) => (
        <option key={category} value={category} label={nameOfKey(category)} />
      ))}
    </datalist>
  );
}
