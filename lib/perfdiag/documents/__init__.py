"""From rules, accounts and the headers of scripts to the pages that explain them."""
