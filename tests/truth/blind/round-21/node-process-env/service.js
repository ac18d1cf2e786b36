// Makes pages of many elements, which are checked unless this is production.
const http = require('http');

const READ = process.env.READ;
const known = process.env.NODE_ENV;

function mode() {
    return READ === 'once' ? known : process.env.NODE_ENV;
}

function check(properties) {
    if (mode() !== 'production' && !properties.key)
        throw new Error('an element has no key');
}

function element(number) {
    const properties = { key: number, title: `item ${number}` };
    check(properties);
    if (mode() !== 'production')
        Object.freeze(properties);
    return `<li id="${properties.key}">${properties.title}</li>`;
}

function page(request, response) {
    let text = '<ul>';
    for (let number = 0; number < 3000; number++)
        text += element(number);
    response.end(text + '</ul>\n');
}

http.createServer(page).listen(process.env.PORT, '127.0.0.1');
